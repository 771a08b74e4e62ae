package evaluator

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/eval"
)

// keptOptimizers work on expressions alone. All others are off: they look at data, or could put another operator into the plan. Also
// common_subexpressions is: what stands twice behind a COALESCE it evaluates for rows that do not come there.
var keptOptimizers = map[string]bool{"expression_rewriter": true, "unused_columns": true}

// Config is how an instance is opened.
type Config struct {
	MemoryLimit string // DuckDB's memory_limit; "" is its default
	OpenStreams int    // statements that stay open at most; 0 is 256
}

// Instance is the DuckDB instance. It is safe for concurrent use.
type Instance struct {
	config map[string]string
	most   int

	mu   sync.Mutex
	db   *duck.DB   // replaced when DuckDB has given it up
	open *list.List // of *runner that have a connection, the one that ran last in front
}

var _ eval.Evaluator = (*Instance)(nil)

// Open opens an instance, which holds no data.
func Open(ctx context.Context, c Config) (*Instance, error) {
	config := map[string]string{
		"threads": "1", "enable_external_access": "false", "autoload_known_extensions": "false", "autoinstall_known_extensions": "false",
	}
	if c.MemoryLimit != "" {
		config["memory_limit"] = c.MemoryLimit
	}
	e := &Instance{config: config, most: c.OpenStreams, open: list.New()}
	if e.most <= 0 {
		e.most = 256
	}
	var err error
	e.db, err = openDuck(ctx, config)
	return e, err
}

func openDuck(ctx context.Context, config map[string]string) (*duck.DB, error) {
	db, err := duck.Open("", duck.Options{Config: config})
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// connect gives a connection to the instance, and to a new one if DuckDB refuses to go on with it: it holds nothing.
func (e *Instance) connect(ctx context.Context) (*duck.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db.Poisoned() != nil {
		db, err := openDuck(ctx, e.config)
		if err != nil {
			return nil, err
		}
		e.db.Close() // who still has a connection meets the error and comes here
		e.db = db
	}
	return e.db.Connect()
}

// prepare turns off the optimizers.
func prepare(ctx context.Context, db *duck.DB) error {
	c, err := db.Connect()
	if err != nil {
		return err
	}
	defer c.Close()
	rows, err := c.Rows(ctx, "SELECT name FROM duckdb_optimizers()")
	if err != nil {
		return err
	}
	var off []string
	for _, r := range rows {
		if name := fmt.Sprint(r[0]); !keptOptimizers[name] {
			off = append(off, name)
		}
	}
	_, err = c.Exec(ctx, "SET GLOBAL disabled_optimizers = '"+strings.Join(off, ",")+"'")
	return err
}

// Open binds a fragment.
func (e *Instance) Open(ctx context.Context, f eval.Fragment) (eval.Runner, error) {
	r := &runner{instance: e, f: f}
	if err := r.plan(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(ctx); err != nil {
		r.release()
		return nil, err
	}
	e.use(r)
	return r, nil
}

// use notes that r, which its caller has locked, has a connection and runs now, and takes the connection of the one that has not
// run for longest when there are too many.
func (e *Instance) use(r *runner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.place != nil {
		e.open.MoveToFront(r.place)
		return
	}
	r.place = e.open.PushFront(r)
	for at := e.open.Back(); at != nil && e.open.Len() > e.most; {
		old := at.Value.(*runner)
		before := at.Prev()
		if old != r && old.mu.TryLock() {
			old.release()
			old.place = nil
			old.mu.Unlock()
			e.open.Remove(at)
		}
		at = before
	}
}

// forget notes that r has no connection any more.
func (e *Instance) forget(r *runner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.place != nil {
		e.open.Remove(r.place)
		r.place = nil
	}
}

// Close closes the instance. No runner may run.
func (e *Instance) Close() error {
	for {
		e.mu.Lock()
		at := e.open.Front()
		e.mu.Unlock()
		if at == nil {
			return e.db.Close()
		}
		at.Value.(*runner).Close()
	}
}
