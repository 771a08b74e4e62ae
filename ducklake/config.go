package ducklake

import (
	"bytes"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/fault"
)

// Config says which lake to open and with what.
type Config struct {
	// Name is the lake's catalog name in SQL; default "lake".
	Name string
	// Catalog is a folder (catalog.ducklake and data/ inside it), a DuckDB file, or postgres://….
	Catalog string
	// DataPath is the folder of the data files. By default it is beside an embedded catalog, or what an
	// existing catalog says; a new PostgreSQL lake needs it.
	DataPath string
	// MetadataSchema is the PostgreSQL schema of the catalog's tables; default Name.
	MetadataSchema string
	// ExtensionDir is where DuckDB's extensions are; "" is where `extensions install` puts them.
	ExtensionDir string
	// TempDir is where spooled results and DuckDB's spill go; "" is the system's.
	TempDir     string
	MemoryLimit string // DuckDB's, as in '8GB'
	// MemoryCeiling bounds the resident memory of the whole process, in bytes; 0 is not at all. It holds for all lakes of the process.
	MemoryCeiling int64
	Threads       int // DuckDB's; 0 is one a core
	// ServerID names this server among those that open the lake; default a new one.
	ServerID string
	// SpoolQuota bounds the disk that open results of all sessions may be spooled to, in bytes; default 10 GiB.
	SpoolQuota int64
	// Vega is DDL for the tables of the reserved in-memory catalog "vega", with unqualified names.
	Vega []string
	// Pin is told of every reader and transaction when it begins, and by what it returns when it ends, so that nothing
	// is removed that one of them may still need. May be nil.
	Pin func() (release func())
	// Committed is told of every commit of a user's write and of every publication: its kind (metadata.CommitWrite,
	// metadata.CommitPublish), how long it waited for the commit lock and how long it held it. May be nil.
	Committed func(kind string, waited, held time.Duration)
	// Log gets what operators should know; default slog.Default().
	Log *slog.Logger
}

// inliningRowLimit is what lakes that we create get: deletes and inserts of up to so many rows live in
// the catalog until they are flushed.
const inliningRowLimit = 1000

// place is where a lake is, resolved from its Config.
type place struct {
	postgres string // the address, "" for an embedded catalog
	schema   string // of the metadata, PostgreSQL only
	file     string // the catalog file, embedded only
	claim    string // what Open noted in claimed
	data     string // with a slash at its end; "" is what the catalog says
	movable  bool   // a folder lake: its data is where it is, whatever the catalog says
}

func (c *Config) withDefaults() {
	if c.Name == "" {
		c.Name = "lake"
	}
	if c.MetadataSchema == "" {
		c.MetadataSchema = c.Name
	}
	if c.ServerID == "" {
		c.ServerID = uuid.NewString()
	}
	if c.SpoolQuota == 0 {
		c.SpoolQuota = 10 << 30
	}
	if c.Committed == nil {
		c.Committed = func(string, time.Duration, time.Duration) {}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

// reserved are catalog names that an instance has for itself.
var reserved = map[string]bool{"vega": true, "temp": true, "system": true, "memory": true, "pg_catalog": true, "information_schema": true}

// resolve decides where the lake is. It creates nothing, and opens no file: while this process has an embedded lake
// open, closing another descriptor of its catalog would give up DuckDB's lock on it.
func (c *Config) resolve() (place, error) {
	p, err := c.where()
	switch {
	case err != nil:
		return place{}, err
	case strings.Contains(p.file, "?"): // DuckDB would keep the log of "a?b" in "a.wal?b"
		return place{}, fault.ConfigInvalid.Newf("a lake cannot be in a path with a question mark: %s", p.file).WithHint("rename the folder")
	case strings.Contains(p.file+p.data, `\`): // it takes them for slashes when it makes folders
		return place{}, fault.ConfigInvalid.Newf("a lake cannot be in a path with a backslash: %s, %s", p.file, p.data).WithHint("rename the folder")
	}
	return p, nil
}

func (c *Config) where() (place, error) {
	if reserved[strings.ToLower(c.Name)] || strings.HasPrefix(strings.ToLower(c.Name), "__ducklake") {
		return place{}, fault.ConfigInvalid.Newf("a lake cannot have the reserved name %q", c.Name)
	}
	data, err := dataFolder(c.DataPath)
	if err != nil {
		return place{}, err
	}
	catalog := strings.TrimPrefix(c.Catalog, "ducklake:")
	scheme, rest, _ := strings.Cut(catalog, ":")
	switch strings.ToLower(scheme) {
	case "postgres", "postgresql":
		if !strings.HasPrefix(rest, "//") { // DuckLake's own spelling: postgres:dbname=…
			catalog = rest
		}
		if strings.HasPrefix(strings.ToLower(c.MetadataSchema), "pg_") {
			return place{}, fault.ConfigInvalid.Newf("PostgreSQL reserves schema names like %q", c.MetadataSchema)
		}
		return place{postgres: catalog, schema: c.MetadataSchema, data: data}, nil
	case "sqlite":
		return place{}, sqliteRefused(c.Catalog)
	case "mysql", "quack", "md", "motherduck":
		return place{}, fault.CatalogRefused.Newf("%s catalogs are not supported", scheme).WithHint(catalogHint)
	case "":
		return place{}, fault.ConfigInvalid.Newf("no lake is named").WithHint(catalogHint)
	}
	if strings.Contains(catalog, "://") {
		return place{}, fault.CatalogRefused.Newf("%q is no catalog that is supported", redact(catalog)).WithHint(catalogHint)
	}
	path, err := filepath.Abs(catalog)
	if err != nil {
		return place{}, fault.LakeUnreadable.Wrap(err, "the catalog's path")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir(), err != nil && filepath.Ext(path) == "":
		p := place{file: filepath.Join(path, "catalog.ducklake"), data: data, movable: data == ""}
		if p.data == "" {
			p.data = filepath.Join(path, "data") + "/"
		}
		return p, nil
	case err != nil && !os.IsNotExist(err):
		return place{}, fault.LakeUnreadable.Wrap(err, "the catalog file")
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".sqlite", ".sqlite3":
		return place{}, sqliteRefused(path)
	}
	if data == "" && os.IsNotExist(err) {
		data = path + ".files/"
	}
	return place{file: path, data: data}, nil
}

const catalogHint = "use a folder, a .ducklake file or postgres://user@host/database"

func dataFolder(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if strings.Contains(path, "://") {
		return "", fault.NotYetSupported.Newf("the data path %q is no local folder", redact(path))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fault.ConfigInvalid.Wrap(err, "the data path")
	}
	return strings.TrimSuffix(abs, "/") + "/", nil
}

func sqliteRefused(path string) error {
	return fault.CatalogRefused.Newf("%s is a SQLite catalog: two writers fail with \"database is locked\", and its scanner "+
		"would let users read any SQLite file of this machine", redact(path)).WithHint(catalogHint)
}

// refuseSQLite looks at the first bytes of a file that may not exist.
func refuseSQLite(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // whoever opens it for good will say what is wrong
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err == nil && bytes.Equal(head, []byte("SQLite format 3\x00")) {
		return sqliteRefused(path)
	}
	return nil
}

// redact takes the password out of an address.
func redact(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}
