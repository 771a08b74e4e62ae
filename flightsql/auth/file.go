package auth

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// fileFormat is the users file as written by an operator.
type fileFormat struct {
	Users map[string]struct {
		Password       string   `yaml:"password"`
		APIKeys        []apiKey `yaml:"api_keys"`
		Admin          bool     `yaml:"admin"`
		MayAcceptStale bool     `yaml:"may_accept_stale"`
	} `yaml:"users"`
}

type apiKey struct {
	Name    string    `yaml:"name"`
	Hash    string    `yaml:"hash"`
	Expires time.Time `yaml:"expires"`
}

// user is one user in force.
type user struct {
	principal Principal
	password  *passwordHash // nil: no password login
	keys      []*key
	mark      string // changes when the password does; tokens remember it
}

// directory is one parsed users file; it never changes.
type directory struct {
	users map[string]*user
	keys  map[[sha256.Size]byte]*key
	// passwords are all that are in force. One of them says what it costs to find out that a name has none.
	passwords []*passwordHash
}

type key struct {
	owner   *user
	expires time.Time // zero: never
}

func (k *key) valid(now time.Time) bool { return k.expires.IsZero() || k.expires.After(now) }

// parseDirectory reads a users file's text. Errors name the user and field, never a secret.
func parseDirectory(text []byte) (*directory, error) {
	var f fileFormat
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not a users file: %w", err)
	}
	d := &directory{
		users: make(map[string]*user, len(f.Users)),
		keys:  map[[sha256.Size]byte]*key{},
	}
	for name, in := range f.Users {
		if err := checkUserName(name); err != nil {
			return nil, err
		}
		u := &user{principal: Principal{Name: name, Admin: in.Admin, MayAcceptStale: in.MayAcceptStale}, mark: in.Password}
		if in.Password != "" {
			h, err := parsePasswordHash(in.Password)
			if err != nil {
				return nil, fmt.Errorf("user %q: %w", name, err)
			}
			u.password = h
			d.passwords = append(d.passwords, h)
		}
		for i, k := range in.APIKeys {
			sum, err := parseAPIKeyHash(k.Hash)
			if err != nil {
				return nil, fmt.Errorf("user %q: api_keys[%d]: %w", name, i, err)
			}
			if _, dup := d.keys[sum]; dup {
				return nil, fmt.Errorf("user %q: api_keys[%d]: the key is listed twice", name, i)
			}
			d.keys[sum] = &key{owner: u, expires: k.Expires}
			u.keys = append(u.keys, d.keys[sum])
		}
		d.users[name] = u
	}
	return d, nil
}

// checkUserName keeps names printable, and free of the colon that ends a name in basic credentials.
func checkUserName(name string) error {
	bad := func(r rune) bool { return r == ':' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if name == "" || len(name) > 128 || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("user name %q: a name has 1 to 128 bytes and no space, colon or control character", name)
	}
	return nil
}

// stamp tells one version of a file from the next.
type stamp struct {
	modified time.Time
	size     int64
}

func readStamped(path string) ([]byte, stamp, error) {
	st, err := fileStamp(path)
	if err != nil {
		return nil, stamp{}, err
	}
	text, err := os.ReadFile(path)
	return text, st, err
}

func fileStamp(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}
