package generations

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

const (
	refreshes = 50 // at least
	readers   = 4
	different = 20 // generations that each reader has to see
)

func rowsOf(g int) int { return 200 + g%100 }

// sumOf is the checksum of generation g, which no other one has.
func sumOf(g int) int {
	n := rowsOf(g)
	return n * (n - 1) / 2 * (2*g + 1)
}

const query = "SELECT g, i, i * (2 * g + 1) AS c FROM src, range(300) r(i) WHERE i < 200 + g % 100"

func TestReadersSeeWholeGenerationsInOrder(t *testing.T) {
	s := process.Start(t, process.Options{Lake: filepath.Join(t.TempDir(), "lake")})
	c := s.Connect(t)
	c.Must(t, "CREATE TABLE src (g BIGINT)")
	c.Must(t, "INSERT INTO src VALUES (0)")
	c.Must(t, "CREATE MATERIALIZED VIEW v AS "+query)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	all := make([]*reader, readers)
	for i := range all {
		all[i] = &reader{t: t, c: s.Connect(t), last: -1}
		group.Go(func() { all[i].loop(ctx) })
	}
	versions := map[string]bool{}
	g := 0
	for !t.Failed() && (g < refreshes || !enough(all)) {
		g++
		c.Must(t, "UPDATE src SET g = "+strconv.Itoa(g))
		row := c.Must(t, "REFRESH MATERIALIZED VIEW v")[0]
		if row[2] != "rebuild" || row[3] != strconv.Itoa(rowsOf(g)) || versions[row[6]] {
			t.Fatalf("refresh %d: %v", g, row)
		}
		versions[row[6]] = true
	}
	stop()
	group.Wait()
	for i, r := range all {
		r.read(t.Context())
		if r.last != g {
			t.Errorf("reader %d sees generation %d after the last refresh, not %d", i, r.last, g)
		}
		t.Logf("reader %d: %d reads, %d generations of %d", i, r.reads, r.seen.Load(), g)
	}
}

func enough(all []*reader) bool {
	for _, r := range all {
		if r.seen.Load() < different {
			return false
		}
	}
	return true
}

// reader reads the whole view again and again.
type reader struct {
	t     *testing.T
	c     *process.Client
	reads int
	last  int
	seen  atomic.Int64 // different generations
}

func (r *reader) loop(ctx context.Context) {
	for ctx.Err() == nil && !r.t.Failed() {
		r.read(ctx)
	}
}

// read fails the test when it does not see a whole generation, or an older one than before.
func (r *reader) read(ctx context.Context) {
	rows, err := r.c.Query(ctx, "SELECT g, i, c FROM v")
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.t.Errorf("reading the view: %v", err)
		return
	}
	r.reads++
	g, err := strconv.Atoi(rows[0][0])
	if err != nil {
		r.t.Error(err)
		return
	}
	sum, once := 0, make(map[string]bool, len(rows))
	for _, row := range rows {
		n, err := strconv.Atoi(row[2])
		if row[0] != rows[0][0] || once[row[1]] || err != nil {
			r.t.Errorf("rows of no one generation: %v beside %v", row, rows[0])
			return
		}
		once[row[1]] = true
		sum += n
	}
	switch {
	case len(rows) != rowsOf(g) || sum != sumOf(g):
		r.t.Errorf("generation %d has %d rows with the sum %d, not %d with %d", g, len(rows), sum, rowsOf(g), sumOf(g))
	case g < r.last:
		r.t.Errorf("generation %d after %d", g, r.last)
	case g > r.last:
		r.last = g
		r.seen.Add(1)
	}
}
