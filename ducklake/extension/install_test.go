package extension

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func from(content string) Source {
	return func(_ context.Context, name, dir string) (string, error) {
		return save(strings.NewReader(content), filepath.Join(dir, name))
	}
}

func none(context.Context, string, string) (string, error) { return "", errors.New("not here") }

func TestAWrongChecksumIsNeverInstalled(t *testing.T) {
	dir := t.TempDir()
	_, err := Install(t.Context(), Options{Dir: dir, Sources: []Source{none, from("garbage"), none}})
	if fault.CodeOf(err) != fault.ExtensionInvalid {
		t.Fatalf("got %v", err)
	}
	if _, err := Find(dir, DuckLake); fault.CodeOf(err) != fault.ExtensionMissing {
		t.Fatalf("a file with a wrong checksum is in place: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(Path(dir, DuckLake)))
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v %v", left, err)
	}
}

func TestEverySourcesReasonIsTold(t *testing.T) {
	_, err := Install(t.Context(), Options{Dir: t.TempDir(), Sources: []Source{none, none}})
	if fault.CodeOf(err) != fault.ExtensionMissing || strings.Count(err.Error(), "not here") != 2 {
		t.Fatalf("got %v", err)
	}
}

func TestAnUnknownExtensionIsRefused(t *testing.T) {
	_, err := Install(t.Context(), Options{Dir: t.TempDir(), Names: []string{"spatial"}, Sources: []Source{from("x")}})
	if fault.CodeOf(err) != fault.ExtensionMissing {
		t.Fatalf("got %v", err)
	}
}

// The extensions that the other tests use came through Install: they are found, complete and not fetched again.
func TestWhatIsThereIsNotFetchedAgain(t *testing.T) {
	dir := os.Getenv(DirEnv)
	if dir == "" {
		t.Skipf("%s names no folder of installed extensions; make sets it", DirEnv)
	}
	done, err := Install(t.Context(), Options{Dir: dir, Sources: []Source{none}})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range done {
		if i.Fetched {
			t.Errorf("%s was fetched", i.Name)
		}
	}
	if len(done) != 2 {
		t.Errorf("got %d extensions", len(done))
	}
}
