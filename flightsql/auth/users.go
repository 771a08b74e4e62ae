package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// UsersConfig configures [OpenUsers].
type UsersConfig struct {
	Path          string
	TokenTTL      time.Duration // 0: 12 hours
	TokensPerUser int           // 0: 1000
	Log           *slog.Logger
}

// Users authenticates by a file of users.
type Users struct {
	path   string
	log    *slog.Logger
	now    func() time.Time
	tokens *tokens
	slow   *throttle

	current atomic.Pointer[directory]
	loading sync.Mutex // one reload at a time; guards seen
	seen    stamp

	basicMu sync.Mutex
	basic   map[[sha256.Size]byte]proven // keyed hash of basic credentials that were right
	pepper  [32]byte

	reloaded func(error) // called after each attempt to reload; for tests
}

// proven is a password that was verified, so that basic credentials on every call do not hash on every call.
type proven struct {
	user, mark string
	expires    time.Time
}

const maxProven = 10_000

// OpenUsers reads the users file. It must be readable now; later it may break, and the last good one stays.
func OpenUsers(cfg UsersConfig) (*Users, error) { return openUsers(cfg, time.Now) }

func openUsers(cfg UsersConfig, now func() time.Time) (*Users, error) {
	if cfg.TokenTTL == 0 {
		cfg.TokenTTL = 12 * time.Hour
	}
	if cfg.TokensPerUser == 0 {
		cfg.TokensPerUser = 1000
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	u := &Users{path: cfg.Path, log: cfg.Log, now: now, slow: newThrottle(now),
		tokens: newTokens(cfg.TokenTTL, cfg.TokensPerUser, now), basic: map[[sha256.Size]byte]proven{}}
	rand.Read(u.pepper[:])
	text, st, err := readStamped(cfg.Path)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "users file")
	}
	d, err := parseDirectory(text)
	if err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "users file %s", cfg.Path)
	}
	u.seen = st
	u.current.Store(d)
	return u, nil
}

// Open is false.
func (u *Users) Open() bool { return false }

// Barred says why nobody of that name may use the server now; "" when somebody may. A user without password and keys is not barred: nobody can
// log in as it, but it may own what others made.
func (u *Users) Barred(name string) string {
	who := u.current.Load().users[name]
	switch {
	case who == nil:
		return "is no user of this server any more"
	case who.password == nil && len(who.keys) > 0 && !slices.ContainsFunc(who.keys, func(k *key) bool { return k.valid(u.now()) }):
		return "may not use this server any more: the API keys have expired"
	}
	return ""
}

// Run reloads the file when it changes, until ctx ends.
func (u *Users) Run(ctx context.Context) error {
	return watchFiles(ctx, u.log, u.reloadIfChanged, u.path)
}

func (u *Users) reloadIfChanged() {
	u.loading.Lock()
	defer u.loading.Unlock()
	st, err := fileStamp(u.path)
	if err == nil && st == u.seen {
		return
	}
	if err == nil {
		err = u.reload()
	}
	if err != nil && st != u.seen {
		u.log.Error("the users file cannot be used; the last good one stays in force", "path", u.path, "err", err)
	}
	u.seen = st
	if u.reloaded != nil {
		u.reloaded(err)
	}
}

func (u *Users) reload() error {
	text, _, err := readStamped(u.path)
	if err != nil {
		return err
	}
	d, err := parseDirectory(text)
	if err != nil {
		return err
	}
	u.current.Store(d)
	u.tokens.retain(func(name, mark string) bool {
		who := d.users[name]
		return who != nil && who.mark == mark
	})
	u.basicMu.Lock()
	clear(u.basic)
	u.basicMu.Unlock()
	u.log.Info("users file loaded", "path", u.path, "users", len(d.users))
	return nil
}

var errBadLogin = fault.Unauthorized.Newf("wrong user name or password")

// Login verifies a password and issues a token. An API key logs in too, and is its own token: one that is issued would outlive the key.
func (u *Users) Login(ctx context.Context, c Credentials) (Grant, error) {
	if err := c.oneCredential(); err != nil {
		return Grant{}, err
	}
	kind, rest := scheme(c.Authorization)
	if kind != "basic" {
		g, err := u.Check(ctx, c)
		if err != nil || g.Token != "" {
			return g, err
		}
		secret := c.APIKey
		if secret == "" {
			secret = rest
		}
		if _, err := u.checkKey(secret); err == nil {
			g.Token = secret
		} else if who := u.current.Load().users[g.Principal.Name]; who != nil {
			g.Token = u.tokens.issue(who)
		}
		return g, nil
	}
	name, password, err := basic(rest)
	if err != nil {
		return Grant{}, err
	}
	who, err := u.verifyPassword(ctx, c.Remote, name, password)
	if err != nil {
		return Grant{}, err
	}
	return Grant{Principal: who.principal, Token: u.tokens.issue(who)}, nil
}

func (u *Users) verifyPassword(ctx context.Context, remote, name, password string) (*user, error) {
	pair := attempt{remote, name}
	if err := u.slow.admit(pair); err != nil {
		return nil, err
	}
	done, err := u.slow.hashing(ctx, remote)
	if err != nil {
		return nil, err
	}
	defer done()
	// A queue of guesses must not outrun its own failures.
	if err := u.slow.admit(pair); err != nil {
		return nil, err
	}
	d := u.current.Load()
	who := d.users[name]
	if who == nil || who.password == nil {
		d.decoy(name).matches(password) // as long as for a user who exists
		u.slow.failed(pair)
		u.log.Warn("failed login", "user", name, "remote", remote)
		return nil, errBadLogin
	}
	if !who.password.matches(password) {
		u.slow.failed(pair)
		u.log.Warn("failed login", "user", name, "remote", remote)
		return nil, errBadLogin
	}
	u.slow.succeeded(pair)
	return who, nil
}

// Check accepts a bearer token, an API key as x-api-key or as bearer, or basic credentials.
func (u *Users) Check(ctx context.Context, c Credentials) (Grant, error) {
	if err := c.oneCredential(); err != nil {
		return Grant{}, err
	}
	if c.APIKey != "" {
		return u.checkKey(c.APIKey)
	}
	switch kind, rest := scheme(c.Authorization); kind {
	case "":
		return Grant{}, fault.Unauthorized.Newf("the request has no credentials").
			WithHint("log in with a user name and password, or send an API key")
	case "bearer":
		g, err := u.checkToken(rest)
		if err != nil {
			if k, kerr := u.checkKey(rest); kerr == nil {
				return k, nil
			}
		}
		return g, err
	case "basic":
		return u.checkBasic(ctx, c, rest)
	default:
		return Grant{}, fault.Unauthorized.Newf("the authorization scheme %q is not supported", kind).
			WithHint("use Basic or Bearer")
	}
}

func (u *Users) checkToken(text string) (Grant, error) {
	name, mark, renew, ok := u.tokens.lookup(text)
	who := u.current.Load().users[name]
	if !ok || who == nil || who.mark != mark {
		return Grant{}, fault.Unauthorized.Newf("the token is unknown or expired").WithHint("log in again")
	}
	g := Grant{Principal: who.principal}
	if renew {
		g.Token = u.tokens.issue(who)
	}
	return g, nil
}

func (u *Users) checkKey(text string) (Grant, error) {
	k := u.current.Load().keys[digest(text)]
	if k == nil || !k.valid(u.now()) {
		return Grant{}, fault.Unauthorized.Newf("the API key is unknown or expired").WithHint("use another one; `vega-flight users key` makes them")
	}
	return Grant{Principal: k.owner.principal}, nil
}

// checkBasic verifies the password the first time, which also gives a token,
// and then knows the credentials by a keyed hash for as long as a token lives.
func (u *Users) checkBasic(ctx context.Context, c Credentials, encoded string) (Grant, error) {
	mac := hmac.New(sha256.New, u.pepper[:])
	mac.Write([]byte(encoded))
	var k [sha256.Size]byte
	mac.Sum(k[:0])
	u.basicMu.Lock()
	p := u.basic[k]
	u.basicMu.Unlock()
	if who := u.current.Load().users[p.user]; who != nil && who.mark == p.mark && p.expires.After(u.now()) {
		return Grant{Principal: who.principal}, nil
	}
	g, err := u.Login(ctx, c)
	if err != nil {
		return Grant{}, err
	}
	if who := u.current.Load().users[g.Principal.Name]; who != nil {
		u.basicMu.Lock()
		if len(u.basic) >= maxProven {
			clear(u.basic)
		}
		u.basic[k] = proven{g.Principal.Name, who.mark, u.now().Add(u.tokens.ttl)}
		u.basicMu.Unlock()
	}
	return g, nil
}

// Logout makes a token invalid at once.
func (u *Users) Logout(token string) { u.tokens.drop(token) }
