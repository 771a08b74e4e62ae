package process

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// Plain is a connection to a DuckDB of the test's own, in memory and without a lake: an oracle. It ends with the test.
func Plain(t *testing.T) *duck.Conn {
	t.Helper()
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}
