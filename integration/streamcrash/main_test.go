package streamcrash

import (
	"os"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }
