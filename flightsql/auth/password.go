package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// passwordHash is a parsed argon2id hash in PHC string format.
type passwordHash struct {
	memory  uint32 // KiB
	time    uint32
	threads uint8
	salt    []byte
	sum     []byte
}

// What HashPassword uses, and the most a file may ask for: verifying a hash must not exhaust the server.
const (
	defaultMemory, defaultTime, defaultThreads = 46 * 1024, 1, 1
	maxMemory, maxTime, maxThreads             = 1024 * 1024, 16, 64
	saltLen, sumLen                            = 16, 32
)

// HashPassword makes the text that a users file has in place of a password.
func HashPassword(password string) (string, error) {
	if password == "" {
		return "", fmt.Errorf("the password is empty")
	}
	h := passwordHash{memory: defaultMemory, time: defaultTime, threads: defaultThreads, salt: make([]byte, saltLen)}
	rand.Read(h.salt)
	h.sum = h.derive(password)
	return h.String(), nil
}

// NewAPIKey makes a random API key and the text that a users file has in its place.
func NewAPIKey() (key, hash string) {
	key = "vk_" + randomText()
	return key, HashAPIKey(key)
}

// HashAPIKey makes the text that a users file has in place of an API key. Keys
// are looked up on every call, so the hash is a fast one: keys must be random.
func HashAPIKey(key string) string {
	d := digest(key)
	return apiKeyPrefix + hex.EncodeToString(d[:])
}

const apiKeyPrefix = "sha256:"

func parseAPIKeyHash(s string) ([sha256.Size]byte, error) {
	var d [sha256.Size]byte
	raw, ok := strings.CutPrefix(s, apiKeyPrefix)
	b, err := hex.DecodeString(raw)
	if !ok || err != nil || len(b) != len(d) {
		return d, fmt.Errorf("an API key hash is %q and 64 hexadecimal digits", apiKeyPrefix)
	}
	copy(d[:], b)
	return d, nil
}

func digest(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

func randomText() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (h *passwordHash) derive(password string) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, sumLen)
}

func (h *passwordHash) matches(password string) bool {
	return subtle.ConstantTimeCompare(h.derive(password), h.sum) == 1
}

func (h *passwordHash) String() string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.memory, h.time, h.threads, enc.EncodeToString(h.salt), enc.EncodeToString(h.sum))
}

func parsePasswordHash(s string) (*passwordHash, error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return nil, fmt.Errorf("a password hash looks like $argon2id$v=19$m=…,t=…,p=…$salt$hash")
	}
	if parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, fmt.Errorf("the password hash has version %q, only v=%d is supported", parts[2], argon2.Version)
	}
	h := &passwordHash{}
	for _, kv := range strings.Split(parts[3], ",") {
		k, v, _ := strings.Cut(kv, "=")
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the password hash has a bad parameter %q", kv)
		}
		switch {
		case k == "m" && n >= 8 && n <= maxMemory:
			h.memory = uint32(n)
		case k == "t" && n >= 1 && n <= maxTime:
			h.time = uint32(n)
		case k == "p" && n >= 1 && n <= maxThreads:
			h.threads = uint8(n)
		default:
			return nil, fmt.Errorf("the password hash parameter %q is unknown or out of range", kv)
		}
	}
	if h.memory == 0 || h.time == 0 || h.threads == 0 {
		return nil, fmt.Errorf("the password hash lacks one of the parameters m, t, p")
	}
	var err error
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(h.salt) < 8 {
		return nil, fmt.Errorf("the password hash has a bad salt")
	}
	if h.sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(h.sum) != sumLen {
		return nil, fmt.Errorf("the password hash has a bad checksum")
	}
	return h, nil
}
