package auth

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a settable now.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// cheap is a password hash that tests can afford.
func cheap(password string) string {
	h := passwordHash{memory: 64, time: 1, threads: 1, salt: []byte("0123456789abcdef")}
	h.sum = h.derive(password)
	return h.String()
}

func usersText(extra string) string {
	return "users:\n" +
		"  alice:\n    password: " + cheap("secret:with colon") + "\n    admin: true\n    may_accept_stale: true\n" +
		"  bob:\n    password: " + cheap("hunter2") + "\n" +
		"  robot:\n    api_keys:\n      - {name: ci, hash: \"" + HashAPIKey("k1") + "\"}\n" +
		"      - {name: old, hash: \"" + HashAPIKey("k0") + "\", expires: 2001-01-01T00:00:00Z}\n" + extra
}

func newUsers(t *testing.T) (*Users, *clock, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte(usersText("")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &clock{t: time.Now()}
	u, err := openUsers(UsersConfig{Path: path, TokenTTL: time.Hour, TokensPerUser: 3, Log: quiet()}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return u, c, path
}

func wantCode(t *testing.T, err error, code *fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Fatalf("error is %v, want %s", err, code.Name())
	}
}

func TestPasswordHash(t *testing.T) {
	s, err := HashPassword("päss")
	if err != nil {
		t.Fatal(err)
	}
	h, err := parsePasswordHash(s)
	if err != nil {
		t.Fatal(err)
	}
	if !h.matches("päss") || h.matches("pass") || h.String() != s {
		t.Fatal("a hash must match its password only and print as it was read")
	}
	if again, _ := HashPassword("päss"); again == s {
		t.Fatal("two hashes of one password must differ by their salt")
	}
	if _, err := HashPassword(""); err == nil {
		t.Fatal("an empty password was hashed")
	}
	for _, bad := range []string{
		"", "plain", "$argon2i$v=19$m=64,t=1,p=1$AAAAAAAAAAA$AAAA",
		strings.Replace(s, "v=19", "v=16", 1),
		strings.Replace(s, "m=47104", "m=99999999", 1), // would exhaust the server
		strings.Replace(s, "t=1", "t=0", 1),
		strings.Replace(s, "t=1,", "", 1),
		strings.Replace(s, "p=1", "p=1,x=2", 1),
		s + "AAAA", s[:len(s)-4],
	} {
		if _, err := parsePasswordHash(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestUsersFileRefusals(t *testing.T) {
	for name, text := range map[string]string{
		"not yaml":      "users: [",
		"unknown field": "users:\n  a:\n    pasword: x\n",
		"plain text":    "users:\n  a:\n    password: hunter2\n",
		"colon in name": "users:\n  \"a:b\": {}\n",
		"empty name":    "users:\n  \"\": {}\n",
		"bad key hash":  "users:\n  a:\n    api_keys: [{hash: k1}]\n",
		"key twice":     "users:\n  a:\n    api_keys: [{hash: \"" + HashAPIKey("k") + "\"}, {hash: \"" + HashAPIKey("k") + "\"}]\n",
	} {
		if _, err := parseDirectory([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the message tells the secret: %v", name, err)
		}
	}
	if d, err := parseDirectory(nil); err != nil || len(d.users) != 0 {
		t.Errorf("an empty file has no users: %v", err)
	}
	if _, err := OpenUsers(UsersConfig{Path: filepath.Join(t.TempDir(), "absent")}); fault.CodeOf(err) != fault.ConfigInvalid {
		t.Errorf("absent file: %v", err)
	}
}

func TestLoginAndToken(t *testing.T) {
	u, clk, _ := newUsers(t)
	ctx := context.Background()
	g, err := u.Login(ctx, Credentials{Authorization: BasicHeader("alice", "secret:with colon")})
	if err != nil {
		t.Fatal(err)
	}
	if g.Principal != (Principal{Name: "alice", Admin: true, MayAcceptStale: true}) || g.Token == "" {
		t.Fatalf("grant %+v", g)
	}
	for range 2 {
		c, err := u.Check(ctx, Credentials{Authorization: "bearer  " + g.Token})
		if err != nil || c.Principal.Name != "alice" || c.Token != "" {
			t.Fatalf("%+v %v", c, err)
		}
	}
	for _, bad := range []Credentials{
		{}, {Authorization: "Bearer " + g.Token + "x"}, {Authorization: "Bearer"}, {Authorization: "Digest x"},
		{Authorization: "Basic !"}, {Authorization: "Basic YQ=="}, {APIKey: "k2"}, {APIKey: "k0"}, {APIKey: g.Token},
		{Authorization: BasicHeader("alice", "wrong")}, {Authorization: BasicHeader("nobody", "x")}, {Authorization: BasicHeader("robot", "")},
	} {
		_, err := u.Check(ctx, bad)
		wantCode(t, err, fault.Unauthorized)
	}
	_, err = u.Check(ctx, Credentials{Authorization: "Bearer " + g.Token, APIKey: "k1"})
	wantCode(t, err, fault.Unauthorized)

	clk.add(31 * time.Minute)
	c, err := u.Check(ctx, Credentials{Authorization: "Bearer " + g.Token})
	if err != nil || c.Token == "" || c.Token == g.Token {
		t.Fatalf("past half of its life a token gets a successor: %+v %v", c, err)
	}
	if again, _ := u.Check(ctx, Credentials{Authorization: "Bearer " + g.Token}); again.Token != "" {
		t.Fatal("a second successor at once")
	}
	clk.add(30 * time.Minute)
	_, err = u.Check(ctx, Credentials{Authorization: "Bearer " + g.Token})
	wantCode(t, err, fault.Unauthorized)
	if _, err := u.Check(ctx, Credentials{Authorization: "Bearer " + c.Token}); err != nil {
		t.Fatal(err)
	}
	u.Logout(c.Token)
	_, err = u.Check(ctx, Credentials{Authorization: "Bearer " + c.Token})
	wantCode(t, err, fault.Unauthorized)
}

func TestAPIKey(t *testing.T) {
	u, _, _ := newUsers(t)
	for _, c := range []Credentials{{APIKey: "k1"}, {Authorization: "Bearer k1"}} {
		g, err := u.Check(context.Background(), c)
		if err != nil || g.Principal.Name != "robot" {
			t.Fatalf("%+v: %+v %v", c, g, err)
		}
	}
	// A login with a key gives nothing that outlives the key.
	for _, c := range []Credentials{{APIKey: "k1"}, {Authorization: "Bearer k1"}} {
		g, err := u.Login(context.Background(), c)
		if err != nil || g.Token != "k1" {
			t.Fatalf("%+v: %+v %v", c, g, err)
		}
	}
	_, err := u.Login(context.Background(), Credentials{APIKey: "k0"})
	wantCode(t, err, fault.Unauthorized)
	key, hash := NewAPIKey()
	if HashAPIKey(key) != hash {
		t.Fatal("the hash of a new key is not its hash")
	}
}

func TestTokensPerUser(t *testing.T) {
	u, _, _ := newUsers(t)
	var all []string
	for range 5 {
		g, err := u.Login(context.Background(), Credentials{Authorization: BasicHeader("bob", "hunter2")})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g.Token)
	}
	for i, tok := range all {
		_, err := u.Check(context.Background(), Credentials{Authorization: "Bearer " + tok})
		if (err == nil) != (i >= 2) {
			t.Errorf("token %d of 5, 3 allowed: %v", i, err)
		}
	}
}

func TestBasicOnEveryCall(t *testing.T) {
	u, clk, _ := newUsers(t)
	c := Credentials{Authorization: BasicHeader("bob", "hunter2")}
	first, err := u.Check(context.Background(), c)
	if err != nil || first.Token == "" {
		t.Fatalf("%+v %v", first, err)
	}
	second, err := u.Check(context.Background(), c)
	if err != nil || second.Token != "" || second.Principal.Name != "bob" {
		t.Fatalf("%+v %v", second, err)
	}
	clk.add(2 * time.Hour)
	if third, err := u.Check(context.Background(), c); err != nil || third.Token == "" {
		t.Fatalf("%+v %v", third, err)
	}
}

// Who may use the server no more is barred; a name without password and keys may own things.
func TestBarred(t *testing.T) {
	c := &clock{t: time.Now()}
	later, path := c.now().Add(time.Hour).UTC().Format(time.RFC3339), filepath.Join(t.TempDir(), "users.yaml")
	key := func(name, expires string) string { return "{hash: \"" + HashAPIKey(name) + "\"" + expires + "}" }
	text := "users:\n  owner: {}\n  always: {api_keys: [" + key("k1", "") + "]}\n  awhile: {api_keys: [" + key("k2", ", expires: "+later) + "]}\n" +
		"  both: {api_keys: [" + key("k3", ", expires: "+later) + ", " + key("k4", "") + "]}\n  " +
		"word: {password: \"" + cheap("new") + "\", api_keys: [" + key("k5", ", expires: "+later) + "]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := openUsers(UsersConfig{Path: path, Log: quiet()}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	barred := func() (out []string) {
		for _, name := range []string{"owner", "always", "awhile", "both", "word", "nobody", Host} {
			if (Hosted{u}).Barred(name) != "" {
				out = append(out, name)
			}
		}
		return out
	}
	if got := barred(); !slices.Equal(got, []string{"nobody"}) {
		t.Errorf("barred are %v", got)
	}
	c.add(2 * time.Hour)
	if got := barred(); !slices.Equal(got, []string{"awhile", "nobody"}) {
		t.Errorf("after the keys' time, barred are %v", got)
	}
}

func TestReload(t *testing.T) {
	u, _, path := newUsers(t)
	ctx, cancel := context.WithCancel(context.Background())
	loads := make(chan error)
	u.reloaded = func(err error) {
		select {
		case loads <- err:
		case <-ctx.Done():
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = u.Run(ctx) })
	defer wg.Wait()
	defer cancel()

	bob, err := u.Login(ctx, Credentials{Authorization: BasicHeader("bob", "hunter2")})
	if err != nil {
		t.Fatal(err)
	}
	alice, err := u.Check(ctx, Credentials{Authorization: BasicHeader("alice", "secret:with colon")})
	if err != nil {
		t.Fatal(err)
	}
	replace := func(text string) error {
		t.Helper()
		tmp := path + ".tmp"
		if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, path); err != nil {
			t.Fatal(err)
		}
		return <-loads
	}
	if err := replace("users: ["); err == nil {
		t.Fatal("a broken file was loaded")
	}
	if _, err := u.Check(ctx, Credentials{Authorization: "Bearer " + bob.Token}); err != nil {
		t.Fatalf("a broken file must leave the old one in force: %v", err)
	}
	// Bob leaves, Alice gets another password and is no administrator any more.
	if err := replace("users:\n  alice:\n    password: " + cheap("new") + "\n  robot: {}\n"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Credentials{
		{Authorization: "Bearer " + bob.Token}, {Authorization: "Bearer " + alice.Token}, {APIKey: "k1"},
		{Authorization: BasicHeader("alice", "secret:with colon")}, {Authorization: BasicHeader("bob", "hunter2")},
	} {
		_, err := u.Check(ctx, c)
		wantCode(t, err, fault.Unauthorized)
	}
	g, err := u.Check(ctx, Credentials{Authorization: BasicHeader("alice", "new")})
	if err != nil || g.Principal.Admin {
		t.Fatalf("%+v %v", g, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := <-loads; err == nil {
		t.Fatal("an absent file was loaded")
	}
	if _, err := u.Check(ctx, Credentials{Authorization: "Bearer " + g.Token}); err != nil {
		t.Fatal(err)
	}
}

func TestThrottle(t *testing.T) {
	u, clk, _ := newUsers(t)
	try := func(address, user, password string) error {
		_, err := u.Login(context.Background(), Credentials{Authorization: BasicHeader(user, password), Remote: address})
		return err
	}
	for range freeFailures {
		wantCode(t, try("evil", "bob", "guess"), fault.Unauthorized)
	}
	wantCode(t, try("evil", "bob", "guess"), fault.QuotaExceeded)
	wantCode(t, try("evil", "bob", "hunter2"), fault.QuotaExceeded)
	if err := try("home", "bob", "hunter2"); err != nil {
		t.Fatalf("bob is locked out by somebody else's failures: %v", err)
	}
	if err := try("evil", "alice", "secret:with colon"); err != nil {
		t.Fatalf("alice is locked out by failures of bob's name: %v", err)
	}
	clk.add(maxPenalty + time.Second)
	if err := try("evil", "bob", "hunter2"); err != nil {
		t.Fatalf("the penalty must end: %v", err)
	}
	for range 2 { // success forgets failures
		wantCode(t, try("evil", "bob", "guess"), fault.Unauthorized)
	}
}

func TestThrottleMemoryIsBounded(t *testing.T) {
	c := &clock{t: time.Now()}
	th := newThrottle(c.now)
	for range freeFailures + 1 {
		th.failed(attempt{"evil", "bob"})
	}
	for i := range 3 * maxFailures {
		th.failed(attempt{"flood", string(rune(i))})
	}
	if len(th.failures) > maxFailures {
		t.Fatalf("%d pairs remembered", len(th.failures))
	}
	if th.admit(attempt{"evil", "bob"}) == nil {
		t.Fatal("a flood of other names washed the penalty away")
	}
}

func TestHashingIsFairBetweenAddresses(t *testing.T) {
	th := newThrottle(time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	started := make(chan error, 100)
	for range 50 { // one address floods
		wg.Go(func() {
			done, err := th.hashing(ctx, "evil")
			started <- err
			if err == nil {
				<-ctx.Done()
				done()
			}
		})
	}
	refused := 0
	for range 50 - maxWaiting { // too many wait: refused at once
		if err := <-started; fault.CodeOf(err) == fault.QuotaExceeded {
			refused++
		}
	}
	done, err := th.hashing(context.Background(), "home")
	if err != nil {
		t.Fatal(err)
	}
	done()
	cancel()
	wg.Wait()
	if refused < 50-maxWaiting-1 {
		t.Fatalf("%d refused", refused)
	}
	if len(th.busy) != 0 || len(th.waiting) != 0 {
		t.Fatal("addresses are remembered for ever")
	}
}

func TestNoAuth(t *testing.T) {
	var a Authenticator = NoAuth{}
	if g, err := a.Login(context.Background(), Credentials{}); err != nil || g.Token == "" || g.Principal.Name != Anonymous {
		t.Fatalf("%+v %v", g, err)
	}
	if g, err := a.Check(context.Background(), Credentials{APIKey: "x"}); err != nil || g.Principal.Name != Anonymous {
		t.Fatalf("%+v %v", g, err)
	}
	_, err := a.Check(context.Background(), Credentials{APIKey: "x", Authorization: "Bearer y"})
	wantCode(t, err, fault.Unauthorized)
}

func TestCheckListener(t *testing.T) {
	u, _, _ := newUsers(t)
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	for _, c := range []struct {
		auth     Authenticator
		addr     net.Addr
		insecure bool
		ok       bool
	}{
		{NoAuth{}, tcp("127.0.0.1"), false, true}, {NoAuth{}, tcp("::1"), false, true}, {NoAuth{}, &net.UnixAddr{Name: "/s", Net: "unix"}, false, true},
		{NoAuth{}, tcp("0.0.0.0"), false, false}, {NoAuth{}, tcp("::"), false, false}, {NoAuth{}, tcp("192.0.2.1"), false, false},
		{NoAuth{}, tcp("192.0.2.1"), true, true}, {u, tcp("192.0.2.1"), false, true},
	} {
		err := CheckListener(c.auth, c.addr, c.insecure)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, fault.InsecureListener.Sentinel())) {
			t.Errorf("%v insecure=%v: %v", c.addr, c.insecure, err)
		}
	}
}

func TestCertificate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	c, err := SelfSigned(dir, []string{"lake.example", "192.0.2.7"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.leaf().VerifyHostname("lake.example"); err != nil {
		t.Error(err)
	}
	if err := c.leaf().VerifyHostname("192.0.2.7"); err != nil {
		t.Error(err)
	}
	if len(strings.Split(c.Fingerprint(), ":")) != 32 {
		t.Error(c.Fingerprint())
	}
	if info, _ := os.Stat(filepath.Join(dir, "key.pem")); info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v", info.Mode())
	}
	again, err := SelfSigned(dir, nil, quiet())
	if err != nil || again.Fingerprint() != c.Fingerprint() {
		t.Fatalf("a kept certificate must be used again: %v", err)
	}
	// A new pair is taken up; half a pair is not.
	other := t.TempDir()
	if _, err := SelfSigned(other, nil, quiet()); err != nil {
		t.Fatal(err)
	}
	old := c.Fingerprint()
	move := func(name string) {
		t.Helper()
		if err := os.Rename(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		c.reloadIfChanged()
	}
	move("cert.pem")
	if c.Fingerprint() != old {
		t.Fatal("a certificate without its key was taken up")
	}
	move("key.pem")
	if c.Fingerprint() == old {
		t.Fatal("the new pair was not taken up")
	}
	if _, err := LoadCertificate("absent", "absent", quiet()); fault.CodeOf(err) != fault.ConfigInvalid {
		t.Fatal(err)
	}
}

func FuzzUsersFile(f *testing.F) {
	f.Add([]byte(usersText("")))
	f.Add([]byte("users: {a: {api_keys: [{}]}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseDirectory(text)
		if err == nil && d == nil {
			t.Fatal("neither users nor an error")
		}
	})
}

func FuzzCredentials(f *testing.F) {
	path := filepath.Join(f.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte("users:\n  robot:\n    api_keys: [{hash: \""+HashAPIKey("k1")+"\"}]\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	u, err := OpenUsers(UsersConfig{Path: path, Log: quiet()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Bearer k1", "")
	f.Add("Basic YTpi", "")
	f.Add("", "k1")
	f.Fuzz(func(t *testing.T, authorization, apiKey string) {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(authorization)), "basic") {
			_, _, _ = basic(strings.TrimSpace(authorization)[5:])
			return
		}
		g, err := u.Check(context.Background(), Credentials{Authorization: authorization, APIKey: apiKey})
		if err == nil && g.Principal.Name != "robot" {
			t.Fatalf("%q %q let %q in", authorization, apiKey, g.Principal.Name)
		}
	})
}
