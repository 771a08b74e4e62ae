package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// The users file of the operations page, with secrets that the command line made, lets its users in.
func TestUsersOfTheOperationsPage(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(users:.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no users file")
	}
	hashed := run(t, strings.NewReader("correct horse\n"), "users", "hash")
	made := regexp.MustCompile(`^key:  (\S+)\nhash: (sha256:\S+)\n$`).FindStringSubmatch(run(t, nil, "users", "key").out)
	if hashed.code != 0 || made == nil {
		t.Fatalf("%+v", hashed)
	}
	text := regexp.MustCompile(`\$argon2id\S+…`).ReplaceAllLiteralString(string(block[1]), strings.TrimSpace(hashed.out))
	text = strings.Replace(text, "sha256:…", made[2], 1)
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	certificates := t.TempDir()
	s := start(t, "--users-file", file, "--tls-generate", certificates)
	if !strings.HasPrefix(s.Flight, "grpc+tls://127.0.0.1:") {
		t.Fatalf("the address is %s", s.Flight)
	}
	found := regexp.MustCompile(`msg="self-signed certificate" file=(\S+) sha256=(\S+)`).FindStringSubmatch(s.Log())
	if found == nil || filepath.Dir(found[1]) != certificates {
		t.Fatalf("the certificate is not told:\n%s", s.Log())
	}
	sql := func(args ...string) outcome {
		return run(t, nil, append([]string{"sql", s.Flight, "-o", "csv"}, args...)...)
	}
	const jobs, accept = "SELECT count(*) AS n FROM vega.jobs", "SET vega.accept_stale = true"
	t.Setenv("VEGA_FLIGHT_PASSWORD", "correct horse")
	if got := sql("--ca", found[1], "-u", "ada", "-c", jobs); got.out != "n\n0\n" {
		t.Errorf("a password: %+v", got)
	}
	if got := sql("--tls-skip-verify", "-u", "ada", "-c", accept); !strings.Contains(got.err, "PERMISSION_DENIED") {
		t.Errorf("stale results for one who may not: %+v", got)
	}
	if got := sql("--ca", found[1], "--api-key", made[1], "-c", accept); got.code != 0 {
		t.Errorf("an API key: %+v", got)
	}
	if got := sql("--ca", found[1], "--token", made[1], "-c", jobs); got.out != "n\n0\n" {
		t.Errorf("an API key as bearer: %+v", got)
	}
	if got := run(t, nil, "check", "--ca", found[1], "--api-key", made[1], s.Flight); !strings.Contains(got.err, "PERMISSION_DENIED") {
		t.Errorf("check by one who is no administrator: %+v", got)
	}
	if got := run(t, nil, "check", "--ca", found[1], "-u", "ada", s.Flight); got.code != 0 {
		t.Errorf("check by an administrator: %+v", got)
	}
	if got := sql("-u", "ada", "-c", jobs); got.code != 1 || !strings.Contains(got.err, "certificate") {
		t.Errorf("a certificate that nobody vouches for: %+v", got)
	}
	if got := sql("--ca", found[1], "-c", jobs); got.code != 1 || !strings.Contains(got.err, "UNAUTHENTICATED") {
		t.Errorf("no credentials: %+v", got)
	}
	t.Setenv("VEGA_FLIGHT_PASSWORD", "wrong horse")
	if got := sql("--ca", found[1], "-u", "ada", "-c", jobs); got.code != 1 || !strings.Contains(got.err, "UNAUTHENTICATED") {
		t.Errorf("a wrong password: %+v", got)
	}
	if got := sql("--ca", found[1], "-u", "mallory", "-c", jobs); got.code != 1 || !strings.Contains(got.err, "UNAUTHENTICATED") {
		t.Errorf("an unknown user: %+v", got)
	}
	for _, user := range []string{"ada", "mallory"} {
		if !regexp.MustCompile(`msg="failed login" user=` + user + ` remote=127\.0\.0\.1`).MatchString(s.Log()) {
			t.Errorf("the failed login of %s is not logged:\n%s", user, s.Log())
		}
	}
	for _, secret := range []string{"correct horse", "wrong horse", made[1], strings.TrimSpace(hashed.out)} {
		if strings.Contains(s.Log(), secret) {
			t.Errorf("the log has the secret %s", secret)
		}
	}
}
