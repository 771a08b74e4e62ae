package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/extension"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	source "github.com/vegadb/vega-flight/ivm/source/lake"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// stateFormat is another one whenever operators, or what is remembered of where rows lie, are kept in another form: state of an older one is
// computed anew.
const stateFormat = "1"

// evaluatorMemory is what DuckDB may take for expressions of streaming views: it sees a batch at a time.
const evaluatorMemory = "2GB"

// openStreams makes what runs streaming views. They begin with the engine and end with it.
func (h *house) openStreams(ctx context.Context, c *Config) (err error) {
	dir, err := c.stateDir(h.lake)
	if err != nil {
		return err
	}
	if c.nameless() {
		h.scratch = dir
	}
	if h.evaluator, err = evaluator.Open(ctx, evaluator.Config{MemoryLimit: evaluatorMemory}); err != nil {
		return err
	}
	h.source = source.New(source.Config{Lake: h.lake})
	owner := func() store.Owner { return store.Owner{ServerID: h.fence().ServerID, Fence: h.fence().Epoch} }
	h.views = h.rows.Streams(owner, h.others())
	h.streams = stream.New(stream.Config{
		Dir: dir, Stamp: strings.Join([]string{extension.DuckDBVersion, metadata.ExtensionVersion, stateFormat}, " "),
		Source: h.source, Sink: h.sink.Results(), Views: h.views, Planner: h.binder, Evaluator: h.evaluator, Groups: h.evaluator,
		Publishing: func(uuid string, delta *zset.Batch) func(int64) { return h.changes.Publishing(uuid, delta) },
		Mine:       func(r stream.Record) bool { return store.Owner{ServerID: r.ServerID, Fence: r.Fence} == owner() },
		Allowed:    h.allowed, MemoryBudget: c.viewMemory(), Log: h.log,
	})
	return nil
}

// change is how a traditional view's content changes, for a refresh that goes on from it.
func (h *house) change(ctx context.Context, v *catalog.View, tables []catalog.Table, from, to, most int64) (*zset.Batch, bool, error) {
	once := stream.Once{Source: h.source, Planner: h.binder, Evaluator: h.evaluator, Groups: h.evaluator}
	return once.Change(ctx, v, tables, from, to, most)
}

// closeStreams lets go of what the streaming views worked with; they have ended.
func (h *house) closeStreams() error {
	var errs []error
	if h.source != nil {
		errs = append(errs, h.source.Close())
	}
	if h.evaluator != nil {
		errs = append(errs, h.evaluator.Close())
	}
	if h.scratch != "" {
		errs = append(errs, os.RemoveAll(h.scratch))
	}
	return errors.Join(errs...)
}

// knower knows who may not use the server, and why.
type knower interface{ Barred(user string) string }

// allowed says why a view's owner may not read its sources any more.
func (h *house) allowed(_ context.Context, v *catalog.View) error {
	why := h.barred(v.Owner)
	if why == "" {
		return nil
	}
	return fault.PermissionDenied.Newf("%s, who owns view %s, %s", v.Owner, v.Name(), why).
		WithHint("ALTER STREAMING MATERIALIZED VIEW %s OWNER TO somebody who may", v.Name())
}

// barred says why nobody of that name may use the server.
func (h *house) barred(user string) string {
	if h.users == nil {
		return ""
	}
	return h.users.Barred(user)
}

// stateDir is where the state of streaming views lies: one folder for each lake and server.
func (c *Config) stateDir(l *ducklake.Lake) (string, error) {
	if c.StateDir != "" {
		return filepath.Abs(c.StateDir)
	}
	if file := l.CatalogFile(); file != "" {
		return file + ".state", nil
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.ConfigInvalid.Wrap(err, "there is no folder for the state of streaming views").WithHint("name one with --state-dir")
		}
		base = filepath.Join(home, ".local", "state")
	}
	of := sha256.Sum256([]byte(hidePassword(c.Lake) + "\n" + c.MetadataSchema))
	return filepath.Join(base, "vega-flight", hex.EncodeToString(of[:8]), url.PathEscape(l.ServerID())), nil
}

// nameless says that the server's id is made up for this run, and with it the state folder.
func (c *Config) nameless() bool {
	return c.ServerID == "" && c.StateDir == "" && strings.HasPrefix(c.Lake, "postgres") && (c.Listen == "" || strings.HasSuffix(c.Listen, ":0"))
}

// viewMemory is the checked ViewMemory.
func (c *Config) viewMemory() int64 {
	n, _ := parseBytes(c.ViewMemory) // check() has parsed it
	return n
}
