package metadata_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// A server that stops answering is given up: what waits for it, without a limit of its own, has that as its reason, and so has what is asked
// meanwhile. When it goes on, so does all.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	const tick = 20 * time.Millisecond
	defer metadata.SetPulse(tick)()
	ctx := context.Background()
	p, err := metadata.OpenPostgres(ctx, laketest.PostgresDSN(t), "frozen")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ask := func() error {
		return p.View(ctx, func(tx metadata.Tx) error {
			_, err := tx.Query(ctx, "SELECT 1")
			return err
		})
	}
	var answers error
	well := func() bool {
		answers = ask()
		if answers != nil && fault.CodeOf(answers) != fault.CatalogGone {
			t.Fatal(answers)
		}
		return answers == nil
	}
	for range 2 {
		for !well() {
			<-time.After(tick)
		}
		thaw := laketest.Freeze(t)
		for range 3 {
			if err := ask(); fault.CodeOf(err) != fault.CatalogGone {
				t.Fatalf("%v", err)
			}
		}
		if err := ask(); !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%v", err)
		}
		if _, err := p.Now(ctx); fault.CodeOf(err) != fault.CatalogGone {
			t.Errorf("%v", err)
		}
		// Nor is there another one to be opened.
		if _, err := metadata.OpenPostgres(ctx, laketest.PostgresDSN(t), "frozen"); fault.CodeOf(err) != fault.CatalogGone {
			t.Errorf("%v", err)
		}
		thaw()
	}
	for !well() {
		<-time.After(tick)
	}
}

func TestScannerAddress(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u@h/d":                      "postgres://u@h/d?connect_timeout=10&tcp_user_timeout=30000&keepalives_idle=30&keepalives_interval=10&keepalives_count=3",
		"postgres://u@h/d?sslmode=disable":      "postgres://u@h/d?sslmode=disable&connect_timeout=10&tcp_user_timeout=30000&keepalives_idle=30&keepalives_interval=10&keepalives_count=3",
		"postgresql://u@h/d?connect_timeout=60": "postgresql://u@h/d?connect_timeout=60&tcp_user_timeout=30000&keepalives_idle=30&keepalives_interval=10&keepalives_count=3",
		"host=h dbname=d keepalives_count=9":    "host=h dbname=d keepalives_count=9 connect_timeout=10 tcp_user_timeout=30000 keepalives_idle=30 keepalives_interval=10",
		"dbname=d password=a://b":               "dbname=d password=a://b connect_timeout=10 tcp_user_timeout=30000 keepalives_idle=30 keepalives_interval=10 keepalives_count=3",
		"dbname=d tcp_user_timeout=1":           "dbname=d tcp_user_timeout=1 connect_timeout=10 keepalives_idle=30 keepalives_interval=10 keepalives_count=3",
	} {
		if got := metadata.ScannerAddress(dsn); got != want {
			t.Errorf("%s\nis %s\nnot %s", dsn, got, want)
		}
	}
}
