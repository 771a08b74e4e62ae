package fault

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/errors.md")

var kindNames = map[Kind]string{
	Internal: "Internal", Invalid: "InvalidArgument", NotFound: "NotFound", Exists: "AlreadyExists", Denied: "PermissionDenied",
	Unauthenticated: "Unauthenticated", Precondition: "FailedPrecondition", Conflict: "Aborted", Canceled: "Canceled",
	Deadline: "DeadlineExceeded", Exhausted: "ResourceExhausted", Unavailable: "Unavailable", Unimplemented: "Unimplemented",
}

func TestNamesAreStableNames(t *testing.T) {
	shape := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	for _, c := range Codes() {
		if !shape.MatchString(c.Name()) {
			t.Errorf("%s is not an upper-case name", c.Name())
		}
		if !strings.HasSuffix(c.Doc(), ".") {
			t.Errorf("%s: its sentence must end with a full stop", c.Name())
		}
		if kindNames[c.Kind()] == "" {
			t.Errorf("%s: unknown kind", c.Name())
		}
	}
}

func TestDocumentationListsEveryCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Error names\n\nEvery error starts with its stable name. The name is also in `google.rpc.ErrorInfo.reason` and in the\n" +
		"trailer `vega-error-code`. A name never changes its meaning.\n\n| name | gRPC status | meaning |\n|---|---|---|\n")
	for _, c := range Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name(), kindNames[c.Kind()], c.Doc())
	}
	const file = "../docs/errors.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() {
		t.Errorf("%s is stale: run go test ./fault -update", file)
	}
}

func TestErrorTextStartsWithTheNameAndEndsWithTheAdvice(t *testing.T) {
	cause := errors.New("boom")
	err := fmt.Errorf("outer: %w", NotPopulated.Wrap(cause, "view %s is empty", "v").WithHint("run %s", "REFRESH"))
	if !errors.Is(err, NotPopulated.Sentinel()) || errors.Is(err, ViewStale.Sentinel()) || !errors.Is(err, cause) || CodeOf(err) != NotPopulated {
		t.Fatal("the code or the cause is not found in the chain")
	}
	want := "outer: MATERIALIZED_VIEW_NOT_POPULATED: view v is empty: boom; run REFRESH"
	if err.Error() != want {
		t.Fatalf("got %q, want %q", err, want)
	}
}
