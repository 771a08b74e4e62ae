package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Options are what an instance is opened with.
type Options struct {
	// Config has DuckDB's settings by name, as in SET GLOBAL.
	Config map[string]string
}

// DB is one DuckDB instance. It is safe for concurrent use.
type DB struct {
	life     sync.RWMutex // raw is not closed while a connection is being made
	raw      ddb.Database
	closed   bool
	poisoned atomic.Pointer[Error]
	failed   chan struct{} // closed when it is poisoned
}

// Open opens the database file at path, or an in-memory instance when path is "".
func Open(path string, o Options) (*DB, error) {
	var config ddb.Config
	if ddb.CreateConfig(&config) == ddb.StateError {
		return nil, fmt.Errorf("duck: DuckDB cannot make a configuration")
	}
	defer ddb.DestroyConfig(&config)
	for name, value := range o.Config {
		if ddb.SetConfig(config, name, value) == ddb.StateError {
			return nil, fmt.Errorf("duck: DuckDB refuses the setting %s = %q", name, value)
		}
	}
	db := &DB{failed: make(chan struct{})}
	var message string
	if ddb.OpenExt(path, &db.raw, config, &message) == ddb.StateError {
		ddb.Close(&db.raw)
		return nil, newError(message, "")
	}
	if err := db.begin(); err != nil {
		ddb.Close(&db.raw)
		return nil, err
	}
	return db, nil
}

// begin does what a new instance needs once.
func (db *DB) begin() error {
	var raw ddb.Connection
	if err := db.connect(&raw); err != nil {
		return err
	}
	defer ddb.Disconnect(&raw)
	if err := registerScan(raw); err != nil {
		return err
	}
	var err error
	loadKeywords.Do(func() {
		c := &Conn{db: db, raw: raw, turn: make(chan struct{}, 1)}
		var words [][]any
		words, err = c.Rows(context.Background(), "SELECT keyword_name FROM duckdb_keywords()")
		for _, w := range words {
			keywords[w[0].(string)] = true
		}
	})
	return err
}

// ConnSettings are the settings that Connect makes on each connection. An
// instance that locks its configuration must leave them in allowed_configs.
var ConnSettings = []string{"enable_progress_bar", "enable_progress_bar_print"}

// Connect opens a connection. Connections are independent: each has its own
// settings, temporary objects and transaction.
func (db *DB) Connect() (*Conn, error) {
	c := &Conn{db: db, turn: make(chan struct{}, 1)}
	if err := db.connect(&c.raw); err != nil {
		if errors.Is(err, ErrClosed) {
			return nil, err
		}
		if err := db.Poisoned(); err != nil {
			return nil, err
		}
		return nil, err
	}
	// Without them there is no progress to ask for, and DuckDB would draw a bar on the terminal.
	if err := c.execLocked("SET enable_progress_bar = true; SET enable_progress_bar_print = false"); err != nil {
		ddb.Disconnect(&c.raw)
		return nil, fmt.Errorf("%w (allowed_configs must have duck.ConnSettings)", err)
	}
	return c, nil
}

// connect makes a connection. DuckDB frees the instance's handle at once when it is closed, whoever still uses it.
func (db *DB) connect(raw *ddb.Connection) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ErrClosed
	}
	if ddb.Connect(db.raw, raw) == ddb.StateError {
		return errors.New("duck: DuckDB refuses a connection")
	}
	return nil
}

// Close closes the instance. Connections must be closed before.
func (db *DB) Close() error {
	db.life.Lock()
	defer db.life.Unlock()
	if !db.closed {
		db.closed = true
		ddb.Close(&db.raw)
	}
	return nil
}

// Poisoned gives the error after which DuckDB refuses all further work of this
// instance, or nil. Only a new instance helps.
func (db *DB) Poisoned() error {
	if e := db.poisoned.Load(); e != nil {
		return e
	}
	return nil
}

// Failed is closed when the instance is poisoned.
func (db *DB) Failed() <-chan struct{} { return db.failed }

// fail makes DuckDB's message an error and remembers a fatal one.
func (db *DB) fail(message, sql string) error {
	if message == "" {
		message = "INTERNAL Error: DuckDB failed without a message"
	}
	e := newError(message, sql)
	// The texts of the last kind may be a user's; DuckDB is asked whether it is so.
	if e.fatal() || (e.Type == "INTERNAL" || strings.Contains(message, invalid)) && db.invalidated() {
		if db.poisoned.CompareAndSwap(nil, e) {
			close(db.failed)
		}
	}
	return e
}

// invalid is what DuckDB says of a database that refuses all further work, such as one whose checkpoint failed for a full disk. It stays
// so when there is room again, and only this database is, but an instance without it is of no use.
const invalid = "has been invalidated"

// invalidated asks DuckDB whether it still takes work, in all attached databases. Most internal errors end the instance, but DuckDB says so to
// the next statement only.
func (db *DB) invalidated() bool {
	var raw ddb.Connection
	if err := db.connect(&raw); err != nil {
		return !errors.Is(err, ErrClosed)
	}
	defer ddb.Disconnect(&raw)
	if text := failure(raw, "SELECT 1"); text != "" {
		return true
	}
	return strings.Contains(failure(raw, "SELECT count(*) FROM duckdb_tables()"), invalid)
}

// failure runs a statement and returns DuckDB's refusal, if any.
func failure(raw ddb.Connection, sql string) string {
	var res ddb.Result
	defer ddb.DestroyResult(&res)
	if ddb.Query(raw, sql, &res) != ddb.StateError {
		return ""
	}
	if text := ddb.ResultError(&res); text != "" {
		return text
	}
	return "no reason"
}
