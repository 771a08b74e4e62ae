package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/ivmtest"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// mirror gives the engine's tests lake tables and streaming views in the place of plain ones. What happens to the lake and its server
// meanwhile is drawn by the seed.
type mirror struct {
	*lab
	fate   *fate
	given  exact
	random *rand.Rand
	tables []string
	plain  []string    // what drops its views and macros
	made   []*follower // newest last
	now    int64
	timed  bool // a table has a watermark: what was late is not known to content that is made anew
	calm   bool // nothing happens
	done   map[string]int
	older  []string // copies of state
}

func newMirror(t testing.TB, kind laketest.Kind) *mirror {
	t.Helper()
	m := &mirror{calm: os.Getenv("VEGA_CALM") != "", done: map[string]int{}, now: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()}
	m.fate = newFate()
	m.lab = newLab(t, kind, m.fate.on, m.given.on)
	m.fate.join(m.lab)
	return m
}

// Begin implements [ivmtest.Mirror].
func (m *mirror) Begin(_ context.Context, seed uint64) error {
	m.random = rand.New(rand.NewPCG(seed, 0xfa7e))
	m.made, m.older, m.timed = nil, nil, false
	m.fate.clock.Store(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	limit := []int{1000, 0, 5}[m.random.IntN(3)]
	m.publisher.InlineRows = []int{0, 1, 8}[m.random.IntN(3)]
	if m.publisher.InlineRows == 0 {
		m.publisher.InlineRows = 5000
	}
	m.fate.budget = []int64{0, 4 << 10}[m.random.IntN(2)]
	if m.calm {
		limit, m.publisher.InlineRows = 1000, 5000
	}
	return m.lab.raw(fmt.Sprintf("CALL lake.set_option('data_inlining_row_limit', %d)", limit))
}

// Table implements [ivmtest.Mirror].
func (m *mirror) Table(_ context.Context, text string) error {
	statements, err := duck.Split(text)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if err := m.try(s.Text); err != nil {
			return &ivmtest.Skipped{Why: "the lake refuses the table: " + err.Error()}
		}
		words := strings.FieldsFunc(s.Text, func(r rune) bool { return r == ' ' || r == '(' || r == '\n' })
		switch kind := strings.ToUpper(words[1]); {
		case kind == "TABLE":
			m.tables = append(m.tables, words[2])
		case kind == "MACRO" && strings.Contains(s.Text, " AS TABLE "):
			m.plain = append(m.plain, "DROP MACRO TABLE "+words[2])
		default:
			m.plain = append(m.plain, "DROP "+kind+" "+words[2])
		}
	}
	return nil
}

// Do implements [ivmtest.Mirror].
func (m *mirror) Do(_ context.Context, texts []string, whole bool) error {
	m.timed = m.timed || whole
	after := m.happen()
	var all []string
	for _, text := range texts {
		statements, err := duck.Split(text)
		if err != nil {
			return err
		}
		for _, s := range statements {
			all = append(all, s.Text)
		}
	}
	err := m.write(all, whole || m.random.IntN(3) == 0)
	if err != nil {
		err = &ivmtest.Skipped{Why: "the lake refuses the statement: " + err.Error()}
	}
	return errors.Join(err, after())
}

// Happen implements [ivmtest.Mirror].
func (m *mirror) Happen(_ context.Context, what string) error {
	if what == "restore" || what == "rescale" {
		m.stop()
		m.start()
	}
	return nil
}

// End implements [ivmtest.Mirror].
func (m *mirror) End(context.Context) error {
	m.fate.mend()
	var errs []error
	for i := len(m.plain) - 1; i >= 0; i-- {
		errs = append(errs, m.try(m.plain[i]))
	}
	for _, t := range m.tables {
		errs = append(errs, m.try("DROP TABLE "+t))
	}
	m.tables, m.plain = nil, nil
	return errors.Join(errs...)
}

// Open implements [ivmtest.Engine]: it makes a streaming view.
func (m *mirror) Open(ctx context.Context, d ivmtest.Definition) (ivmtest.Maintained, error) {
	zone := d.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	if err := m.session.SetOption(ctx, "TimeZone", zone); err != nil {
		return nil, err
	}
	bound, err := m.binder.Bind(ctx, m.session, d.SQL)
	if err != nil {
		return nil, &ivmtest.Skipped{Why: err.Error()}
	}
	distinct(bound.Columns)
	options, err := m.drawOptions(d)
	if err != nil {
		return nil, err
	}
	row := catalog.Row{Kind: catalog.Streaming, CreatedAt: time.Now().UTC(), Sources: bound.Sources, Owner: "u", Name: catalog.Name{Schema: "main", Name: d.Name}}
	def := catalog.Definition{
		Kind: catalog.Streaming, Query: bound.Query, TimeZone: bound.TimeZone, Pinned: bound.Pinned, Consistent: bound.Consistent,
		Options: catalog.Options{Stream: options},
	}
	row = row.WithDefinition(def)
	p, err := m.binder.Plan(ctx, &catalog.View{Row: row, Table: catalog.Table{Columns: bound.Columns}, Def: def})
	if err != nil {
		return nil, &ivmtest.Skipped{Why: err.Error()}
	}
	if !p.Admitted() {
		return nil, &ivmtest.Skipped{Why: p.Reasons[0].String()}
	}
	table, err := m.sink.Create(ctx, refresh.Making{Name: row.Name, Columns: bound.Columns, Row: row, Begin: stream.Backfill})
	if err != nil {
		return nil, &ivmtest.Skipped{Why: err.Error()}
	}
	f, err := newFollower(m, d, &catalog.View{Row: row, Table: table, Def: def})
	if err != nil {
		return nil, err
	}
	m.made = append(m.made, f)
	m.changed()
	return f, nil
}

// OpenStored implements [ivmtest.Engine].
func (m *mirror) OpenStored(ctx context.Context, d ivmtest.Definition) (ivmtest.Maintained, error) {
	return m.Open(ctx, d)
}

// distinct makes names of columns differ, as a table's must.
func distinct(columns []catalog.Column) {
	seen := map[string]bool{}
	for i := range columns {
		name := columns[i].Name
		for n := 2; seen[strings.ToLower(columns[i].Name)]; n++ {
			columns[i].Name = fmt.Sprintf("%s_%d", name, n)
		}
		seen[strings.ToLower(columns[i].Name)] = true
	}
}

// drawOptions draws a view's options, and gives those that its sources' watermarks need.
func (m *mirror) drawOptions(d ivmtest.Definition) (out ddl.Options, err error) {
	put := func(name string, v ddl.Value) { out = append(out, ddl.Option{Name: name, Value: v}) }
	whole := func(name string, of ...int64) {
		if n := of[m.random.IntN(len(of))]; n > 0 && !m.calm {
			put(name, ddl.Value{Kind: ddl.Int, Int: n})
		}
	}
	whole("source_batch_rows", 0, 1, 3)
	whole("parallelism", 1, 2, 3, 5)
	if m.random.IntN(2) == 0 && !m.calm {
		put("publish_batch_bytes", ddl.Value{Kind: ddl.Bytes, Int: 1 << 10})
	}
	if m.random.IntN(2) == 0 {
		put("checkpoint_interval", ddl.Value{Kind: ddl.Duration, Duration: 100 * time.Millisecond})
	}
	put("temporal_tick", ddl.Value{Kind: ddl.Duration, Duration: 10 * time.Millisecond})
	delay := time.Duration(-1)
	var columns []string
	for _, s := range d.Plan.Sources() {
		if s.Watermark == "" {
			continue
		}
		x := time.Duration(s.DelayMicros) * time.Microsecond
		if delay >= 0 && x != delay {
			return nil, &ivmtest.Skipped{Why: "watermarks of several delays"}
		}
		delay = x
		columns = append(columns, s.Name+"."+s.Watermark)
	}
	if len(columns) > 0 {
		put("watermark_column", ddl.Value{Kind: ddl.Text, Text: strings.Join(columns, ",")})
		put("watermark_delay", ddl.Value{Kind: ddl.Duration, Duration: delay})
	}
	return out, nil
}

// try runs a statement of a session.
func (l *lab) try(sql string) error {
	a, err := l.session.Analyze(l.ctx, sql)
	if err == nil {
		_, err = l.session.Exec(l.ctx, a)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// write runs statements of a session or of somebody else, in one commit or in several.
func (m *mirror) write(statements []string, whole bool) (err error) {
	if m.fate.foreign != nil && m.random.IntN(3) == 0 {
		m.note("foreign writer")
		if whole {
			statements = append(append([]string{"BEGIN"}, statements...), "COMMIT")
		}
		for _, s := range statements {
			if _, err = m.fate.foreign.Exec(m.ctx, s); err != nil {
				if whole {
					_, _ = m.fate.foreign.Exec(m.ctx, "ROLLBACK")
				}
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	if !whole || len(statements) < 2 {
		for _, s := range statements {
			if err := m.try(s); err != nil {
				return err
			}
		}
		return nil
	}
	m.note("several statements in a transaction")
	id, err := m.session.Begin(m.ctx)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if err = m.try(s); err != nil {
			return errors.Join(err, m.session.Rollback(m.ctx, id))
		}
	}
	return m.session.Commit(m.ctx, id)
}

// raw runs a statement of the lake's own DuckDB.
func (l *lab) raw(sql string) error {
	defer l.lake.Notify()
	conn, release, err := l.acquire(l.ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, err := conn.Exec(l.ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// note counts what has happened.
func (m *mirror) note(what string) { m.done[what]++ }

// quiet is an error of a statement that need not succeed at this time.
func quiet(err error) bool {
	switch fault.CodeOf(err) {
	case fault.CommitConflict, fault.RefreshConflict:
		return true
	}
	return false
}

var _ ivmtest.Mirror = (*mirror)(nil)
