package flights

import (
	"os"
	"strconv"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

// number is an environment variable's, or what is usual.
func number(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
