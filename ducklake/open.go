package ducklake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Open opens a lake, or creates it where there is none. Afterwards the instance's configuration is locked:
// no file but the lake's own can be read or written through it.
func Open(ctx context.Context, c Config) (*Lake, error) {
	c.withDefaults()
	at, err := c.resolve()
	if err != nil {
		return nil, err
	}
	l := &Lake{
		config: c, place: at, log: c.Log,
		lock:          metadata.NewCommitLock(),
		ddl:           make(chan struct{}, 1),
		spool:         &quota{limit: c.SpoolQuota},
		notice:        newNotice(),
		fatal:         make(chan struct{}),
		commit:        commitOn,
		beforePublish: func() {},
		stop:          func() {},
		memory:        memory{ceiling: uint64(max(0, c.MemoryCeiling))},
	}
	l.pool = &pool{connect: func() (*duck.Conn, error) { return l.db.Connect() }, settle: settleOn}
	if err := l.claim(); err != nil {
		return nil, err
	}
	if err := l.open(ctx); err != nil {
		if fault.CodeOf(err) == nil && ctx.Err() == nil {
			err = fault.LakeUnreadable.Wrap(err, "opening the lake")
		}
		return nil, errors.Join(err, l.abandon())
	}
	return l, nil
}

// claimed are the catalog files that this process has open. DuckDB's lock on a file holds against other processes
// only: two instances in one process would destroy it.
var claimed sync.Map

func (l *Lake) claim() error {
	if l.place.postgres != "" {
		return nil
	}
	l.place.claim = l.place.file
	if dir, err := filepath.EvalSymlinks(filepath.Dir(l.place.file)); err == nil {
		l.place.claim = filepath.Join(dir, filepath.Base(l.place.file))
	}
	if file, err := filepath.EvalSymlinks(l.place.file); err == nil {
		l.place.claim = file
	}
	if _, taken := claimed.LoadOrStore(l.place.claim, true); taken {
		l.place.claim = ""
		return fault.LakeLocked.Newf("this process has the lake %s open already", l.place.file)
	}
	if err := refuseSQLite(l.place.file); err != nil {
		l.release()
		return err
	}
	return nil
}

func (l *Lake) release() {
	if l.place.claim != "" {
		claimed.Delete(l.place.claim)
	}
}

// abandon closes what open got done before it failed.
func (l *Lake) abandon() error {
	if l.db == nil {
		l.release()
		if l.temp != nil {
			return l.temp.remove()
		}
		return nil
	}
	return l.Close()
}

func (l *Lake) open(ctx context.Context) (err error) {
	if l.temp, err = makeTempDir(l.config.TempDir); err != nil {
		return err
	}
	ducklakeFile, err := extension.Find(l.config.ExtensionDir, extension.DuckLake)
	if err != nil {
		return err
	}
	loads := []string{ducklakeFile}
	if l.place.postgres != "" {
		postgresFile, err := extension.Find(l.config.ExtensionDir, extension.Postgres)
		if err != nil {
			return err
		}
		loads = append(loads, postgresFile)
	}
	settings := map[string]string{
		"temp_directory":               filepath.Join(l.temp.path, "duckdb"),
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_unsigned_extensions":    "false",
		"allow_community_extensions":   "false",
	}
	if l.config.MemoryLimit != "" {
		settings["memory_limit"] = l.config.MemoryLimit
	}
	if l.config.Threads > 0 {
		settings["threads"] = strconv.Itoa(l.config.Threads)
	}
	if l.db, err = duck.Open("", duck.Options{Config: settings}); err != nil {
		return fault.ConfigInvalid.Wrap(err, "DuckDB's settings")
	}
	if l.keep, err = l.db.Connect(); err != nil {
		return err
	}
	for _, file := range loads {
		if _, err := l.keep.Exec(ctx, `LOAD `+metadata.QuoteLiteral(file)); err != nil {
			return fault.ExtensionInvalid.Wrap(err, "loading %s", file).
				WithHint("run: vega-flight extensions install --force")
		}
	}
	if err := l.checkExtension(ctx); err != nil {
		return err
	}
	if err := l.attach(ctx); err != nil {
		return err
	}
	if err := l.lockDown(ctx); err != nil {
		return err
	}
	if err := l.store.View(ctx, func(tx metadata.Tx) error { return metadata.CheckFormat(ctx, tx) }); err != nil {
		return err
	}
	if _, err := l.restoreMain(ctx); err != nil {
		return err
	}
	if err := metadata.Migrate(ctx, l.store, "session", buildMigrations); err != nil {
		return err
	}
	if l.gate, err = gate.New(ctx, gate.Config{Lake: l.config.Name, Vega: l.config.Vega}); err != nil {
		return err
	}
	if err := l.sweepOwn(ctx); err != nil {
		return err
	}
	if err := errors.Join(l.settleOthers(ctx), l.sweepFloatBounds(ctx)); err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.startNotice(run)
	l.startMemory(run)
	return nil
}

// checkExtension makes sure that the ducklake extension is the one whose format and behaviour are known.
func (l *Lake) checkExtension(ctx context.Context) error {
	rows, err := l.keep.Rows(ctx, `SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'ducklake' AND loaded`)
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != metadata.ExtensionVersion {
		return fault.ExtensionInvalid.Newf("the ducklake extension has version %v; this server needs %s", rows, metadata.ExtensionVersion).
			WithHint("run: vega-flight extensions install --force")
	}
	return nil
}

// disabledOptimizers give wrong answers. Of the first two reads of older snapshots: DuckLake's column statistics are not versioned. Of the
// third joins with rows that a LIMIT has chosen: what a join's other side has is applied to the scan below the LIMIT, which then chooses
// among other rows, or not, as threads happen to run. A later DuckDB stops there; it is a setting of the instance, not of a statement.
const disabledOptimizers = `statistics_propagation,compressed_materialization,join_filter_pushdown`

// attach attaches the lake, creating it when it is not there, and opens the store beside it.
func (l *Lake) attach(ctx context.Context) error {
	global := []string{
		`SET GLOBAL disabled_optimizers = '` + disabledOptimizers + `'`,
		`SET GLOBAL ducklake_retry_wait_ms = 2`,
		`SET GLOBAL TimeZone = 'UTC'`,
	}
	if l.place.postgres != "" {
		// Other processes commit too: more attempts, growing more slowly.
		global = append(global, `SET GLOBAL ducklake_max_retry_count = 30`, `SET GLOBAL ducklake_retry_backoff = 1.25`)
	}
	for _, sql := range global {
		if _, err := l.keep.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := l.secondThread(ctx); err != nil {
		return err
	}
	if l.place.postgres != "" {
		return l.attachPostgres(ctx)
	}
	return l.attachFile(ctx)
}

// secondThread gives DuckDB one if it has only one, as on a machine with one core: an ASOF RIGHT or FULL JOIN then waits for itself, and
// neither ends nor can be interrupted.
func (l *Lake) secondThread(ctx context.Context) error {
	rows, err := l.keep.Rows(ctx, `SELECT current_setting('threads')`)
	if err != nil {
		return err
	}
	if n, _ := rows[0][0].(int64); n > 1 {
		return nil
	}
	_, err = l.keep.Exec(ctx, `SET GLOBAL threads = 2`)
	return err
}

func (l *Lake) attachFile(ctx context.Context) error {
	file := l.place.file
	info, err := os.Stat(file)
	create := os.IsNotExist(err)
	switch {
	case err != nil && !create:
		return fault.LakeUnreadable.Wrap(err, "the catalog file")
	case create:
		for _, dir := range []string{filepath.Dir(file), l.place.data} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fault.LakeUnreadable.Wrap(err, "the lake's folder cannot be made")
			}
		}
	case !info.Mode().IsRegular():
		return fault.LakeUnreadable.Newf("%s is no file", file)
	}
	if err := l.attachCatalog(ctx, file, create, nil); err != nil {
		return err
	}
	if l.file, err = os.Stat(file); err != nil {
		return fault.LakeUnreadable.Wrap(err, "the catalog file")
	}
	l.store, err = metadata.OpenDuckDB(l.config.Name, l.connectCatalog)
	if err != nil {
		return err
	}
	return l.findData(ctx, create)
}

func (l *Lake) attachPostgres(ctx context.Context) error {
	pg, err := metadata.OpenPostgres(ctx, l.place.postgres, l.place.schema)
	if err != nil {
		return err
	}
	l.store = pg
	// Two servers must not create one lake at the same time.
	return pg.Exclusive(ctx, "create", func(exists bool) error {
		if !exists && l.place.data == "" {
			return fault.ConfigInvalid.Newf("a new lake with a PostgreSQL catalog needs a data path").
				WithHint("give a folder that every server of the lake can reach")
		}
		if !exists {
			if err := os.MkdirAll(l.place.data, 0o755); err != nil {
				return fault.LakeUnreadable.Wrap(err, "the data folder cannot be made")
			}
		}
		options := []string{`METADATA_SCHEMA ` + metadata.QuoteLiteral(l.place.schema)}
		if err := l.attachCatalog(ctx, `postgres:`+metadata.ScannerAddress(l.place.postgres), !exists, options); err != nil {
			return err
		}
		return l.findData(ctx, !exists)
	})
}

// attachCatalog runs ATTACH. Without create nothing may be made: a wrong path must not turn a foreign
// database into a lake.
func (l *Lake) attachCatalog(ctx context.Context, target string, create bool, options []string) error {
	options = append(options, `CREATE_IF_NOT_EXISTS `+strconv.FormatBool(create), `AUTOMATIC_MIGRATION false`)
	name := metadata.QuoteIdent(l.config.Name)
	attach := func(options []string) error {
		_, err := l.keep.Exec(ctx, `ATTACH `+metadata.QuoteLiteral(`ducklake:`+target)+` AS `+name+` (`+strings.Join(options, `, `)+`)`)
		if err != nil {
			return l.attachError(err)
		}
		return nil
	}
	if create {
		if l.place.data != "" {
			options = append(options, `DATA_PATH `+metadata.QuoteLiteral(l.place.data))
		}
		if err := attach(options); err != nil {
			return err
		}
		_, err := l.keep.Exec(ctx, fmt.Sprintf(`CALL %s.set_option('data_inlining_row_limit', %d)`, name, inliningRowLimit))
		return err
	}
	if err := attach(options); err != nil {
		return err
	}
	data, err := l.otherData(ctx)
	if err != nil || data == "" {
		return err
	}
	if _, err := l.keep.Exec(ctx, `DETACH `+name); err != nil {
		return err
	}
	return attach(append(options, `DATA_PATH `+metadata.QuoteLiteral(data), `OVERRIDE_DATA_PATH true`))
}

func (l *Lake) attachError(err error) error {
	text := err.Error()
	where := l.place.file
	if l.place.postgres != "" {
		where = redact(l.place.postgres)
		if strings.Contains(text, "Unable to connect") || strings.Contains(text, "could not connect") {
			return fault.CatalogGone.Newf("the catalog database %s cannot be reached", where)
		}
	}
	switch {
	case strings.Contains(text, "Could not set lock"), strings.Contains(text, "Unique file handle conflict"):
		return fault.LakeLocked.Newf("another process has the lake %s open", where).
			WithHint("an embedded lake serves one process: connect to the server that has it, as grpc://host:port, or stop the other process, or use a PostgreSQL catalog")
	case strings.Contains(text, "migration"), strings.Contains(text, "DuckLake version"), strings.Contains(text, "catalog version"):
		return fault.LakeUnsupported.Wrap(err, "the lake %s", where)
	}
	return fault.LakeUnreadable.Wrap(err, "the lake %s cannot be opened", where)
}

// sessionSettings may still be set after the lock: by this package, never by users, whose SET the gate takes.
const sessionSettings = `['TimeZone', 'enable_progress_bar', 'enable_progress_bar_print', 'progress_bar_time', 'streaming_buffer_size', 'perfect_ht_threshold', 'ducklake_max_retry_count']`

// lockDown makes what the instance may touch final. The catalog's own files and the temporary folder are
// allowed by ATTACH and by the setting.
func (l *Lake) lockDown(ctx context.Context) error {
	steps := []string{`ATTACH ':memory:' AS vega`}
	for _, ddl := range l.config.Vega {
		steps = append(steps, `USE vega.main`, ddl)
	}
	steps = append(steps,
		`USE memory.main`,
		`SET GLOBAL allowed_directories = [`+metadata.QuoteLiteral(l.data)+`]`,
		`SET GLOBAL allowed_configs = `+sessionSettings,
		`SET GLOBAL enable_external_access = false`,
		`SET GLOBAL lock_configuration = true`,
	)
	for _, sql := range steps {
		if _, err := l.keep.Exec(ctx, sql); err != nil {
			return fmt.Errorf("lock the instance down (%s): %w", sql, err)
		}
	}
	return nil
}
