package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokens is the bearer tokens in force, by their hash.
type tokens struct {
	ttl     time.Duration
	perUser int
	now     func() time.Time

	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*token
	byUser map[string][]*token // oldest first
}

type token struct {
	hash    [sha256.Size]byte
	user    string
	mark    string // the user's password when the token was issued
	issued  time.Time
	expires time.Time
	renewed time.Time // when a successor was last handed out
}

func newTokens(ttl time.Duration, perUser int, now func() time.Time) *tokens {
	return &tokens{ttl: ttl, perUser: perUser, now: now,
		byHash: map[[sha256.Size]byte]*token{}, byUser: map[string][]*token{}}
}

// issue makes a token for u. The oldest ones of a user give way when there are too many.
func (t *tokens) issue(u *user) string {
	text := "vt_" + randomText()
	now := t.now()
	k := &token{hash: digest(text), user: u.principal.Name, mark: u.mark, issued: now, expires: now.Add(t.ttl)}
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.byUser[k.user]
	for len(mine) > 0 && (len(mine) >= t.perUser || !mine[0].expires.After(now)) {
		delete(t.byHash, mine[0].hash)
		mine = mine[1:]
	}
	t.byUser[k.user] = append(mine, k)
	t.byHash[k.hash] = k
	return text
}

// lookup returns the user's name and password mark of a live token, and whether
// the holder should get a successor: past half of its life, at most eight times.
func (t *tokens) lookup(text string) (user, mark string, renew, ok bool) {
	h := digest(text)
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byHash[h]
	if k == nil || !k.expires.After(now) {
		return "", "", false, false
	}
	if now.Sub(k.issued) > t.ttl/2 && now.Sub(k.renewed) > t.ttl/16 {
		k.renewed = now
		renew = true
	}
	return k.user, k.mark, renew, true
}

// drop forgets one token.
func (t *tokens) drop(text string) {
	h := digest(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byHash[h]
	if k == nil {
		return
	}
	delete(t.byHash, h)
	for i, o := range t.byUser[k.user] {
		if o == k {
			t.byUser[k.user] = append(t.byUser[k.user][:i:i], t.byUser[k.user][i+1:]...)
			break
		}
	}
}

// retain forgets the tokens whose user keep refuses, and the expired ones.
func (t *tokens) retain(keep func(user, mark string) bool) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, mine := range t.byUser {
		kept := mine[:0]
		for _, k := range mine {
			if k.expires.After(now) && keep(k.user, k.mark) {
				kept = append(kept, k)
			} else {
				delete(t.byHash, k.hash)
			}
		}
		if len(kept) == 0 {
			delete(t.byUser, name)
		} else {
			t.byUser[name] = kept
		}
	}
}
