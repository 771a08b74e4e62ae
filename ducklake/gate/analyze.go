package gate

import (
	"context"
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// analyzer takes one text through the gate's locks.
type analyzer struct {
	*Session
	ctx    context.Context
	env    Env
	toks   []token
	text   string // what will run
	shadow string // what the shadow understands: the text with AT clauses blanked; positions are the same
	st     *statement
	a      *Analysis
	snaps  bool // snapshot_id was replaced in shadow
}

// expected is the kind that DuckDB's parser must find for what the tokens say.
var expected = map[Kind]duck.StatementKind{
	Select: duck.KindSelect, Describe: duck.KindSelect, Explain: duck.KindExplain, Insert: duck.KindInsert, Update: duck.KindUpdate,
	Delete: duck.KindDelete, Truncate: duck.KindDelete, Merge: duck.KindMergeInto, CreateTable: duck.KindCreate,
	CreateTableAs: duck.KindCreate, CreateView: duck.KindCreate, CreateSchema: duck.KindCreate, CreateMacro: duck.KindCreate,
	Drop: duck.KindDrop, Alter: duck.KindAlter, Comment: duck.KindAlter, Set: duck.KindSet, Reset: duck.KindSet,
}

func (s *Session) analyze(ctx context.Context, sql string, env Env) (*Analysis, error) {
	x := &analyzer{Session: s, ctx: ctx, env: env}
	if len(sql) > maxSQL {
		return nil, fault.SyntaxError.Newf("the statement has more than %d MiB", maxSQL>>20).WithHint("load rows through bulk ingest, or bind them as parameters")
	}
	toks, clean, err := scan(sql)
	if err != nil {
		return nil, err
	}
	for len(toks) > 0 && toks[len(toks)-1].op(';') {
		toks = toks[:len(toks)-1]
	}
	x.toks, x.text = toks, clean
	if len(toks) > 0 {
		x.text = clean[:toks[len(toks)-1].end]
	}
	if x.st, err = read(toks, len(x.text)); err != nil {
		return nil, err
	}
	x.a = &Analysis{SQL: x.text, Kind: x.st.kind, Inner: x.st.inner, SchemaVersion: s.inst.mirror.version}
	x.a.Execute = x.a.Kind != Explain || x.st.analyze
	if err := x.tooMuch(); err != nil {
		return nil, err
	}
	if err := checkVariant(toks, x.st.kind == CreateTable || x.st.kind == Alter || x.st.kind == CreateMacro); err != nil {
		return nil, err
	}
	if x.a.Functions, err = checkFunctions(toks, sessionWords{s.inst.mirror, s.temp}, env.Admin, x.st.made); err != nil {
		return nil, err
	}
	if x.a.Kind.Transaction() {
		return x.a, nil
	}
	if e := x.st.effect; e != nil && e.Kind != SetVariable && s.inst.mirror.schemas[lower(env.Schema)] == "" {
		env.Schema = mainSchema // the session's own was dropped, and this may be the way out of it
	}
	if err := s.enter(ctx, env); err != nil {
		return nil, err
	}
	if err := x.run(); err != nil {
		return nil, err
	}
	x.unread()
	return x.a, nil
}

// tooMuch refuses what DuckDB would not come to an end with.
func (x *analyzer) tooMuch() error {
	if err := bounded(x.toks); err != nil {
		return err
	}
	w := x.weigher()
	if n := w.expansion(x.toks, map[string]float64{}, 1); n > maxWeight {
		return fault.StatementForbidden.Newf("the views and macros of the statement become too much: more than %d words", maxWeight).
			WithHint("let a table or a materialized view stand for a part of it")
	}
	return nil
}

func (x *analyzer) run() error {
	a, st := x.a, x.st
	if st.effect != nil {
		return x.settings()
	}
	if err := x.stored(); err != nil {
		return err
	}
	if err := x.prepare(); err != nil {
		return err
	}
	for _, f := range a.Functions {
		a.TouchesTemp = a.TouchesTemp || f == "getvariable"
	}
	for _, kind := range x.temp {
		// A temporary view or macro may stand for any name, even inside of the lake's views.
		a.TouchesTemp = a.TouchesTemp || kind != TableObject
	}
	switch {
	case a.Kind == Select || a.Kind == Describe || a.Kind == Explain || a.Kind.DML():
		if err := x.reads(x.planText()); err != nil {
			return err
		}
		if err := x.described(); err != nil {
			return err
		}
	case a.Kind == CreateTableAs, a.Kind == CreateView:
		from, to := x.toks[st.queryFrom:st.queryTo], x.shadow
		if len(from) == 0 {
			return fault.SyntaxError.Newf("a query was expected").At(len(x.text))
		}
		if err := x.reads(to[from[0].start:from[len(from)-1].end]); err != nil {
			return err
		}
	}
	switch {
	case a.Inner.DML():
		return x.dml()
	case a.Kind.DDL():
		return x.ddl()
	}
	a.ReadOnly, a.returns = true, true
	return nil
}

// stored refuses what a text that is kept cannot have.
func (x *analyzer) stored() error {
	if !x.a.Kind.DDL() || x.a.Kind == CreateTableAs {
		return nil
	}
	for _, t := range x.toks {
		switch {
		case t.kind == param:
			return fault.InvalidParameter.Newf("a stored text cannot have parameters").At(t.start)
		case (x.a.Kind == CreateTable || x.a.Kind == Alter) && (t.is("select") || t.is("from")):
			return fault.StatementForbidden.Newf("a table's definition cannot have queries").At(t.start)
		}
	}
	return nil
}

// described plans what a DESCRIBE describes: its own plan has no scan.
func (x *analyzer) described() error {
	if x.a.Inner != Describe {
		return nil
	}
	c := &cursor{toks: x.toks, i: x.st.body + 1, end: len(x.text)}
	show := x.toks[x.st.body].is("show")
	t := c.peek(0)
	var text string
	switch {
	case !c.more(), show && (t.is("tables") || t.is("all") || t.is("databases") || t.is("schemas")):
		return nil
	case t.op('('), t.is("with"), t.kind == word && selectHeads[t.lower]:
		text = x.shadow[t.start:]
	default:
		text = "FROM " + x.shadow[t.start:]
	}
	reads := x.a.Reads
	err := x.reads(text)
	x.a.Reads = reads
	return err
}

// planText is what is planned: the explained statement of an EXPLAIN.
func (x *analyzer) planText() string {
	if x.a.Kind == Explain {
		return x.shadow[x.toks[x.st.body].start:]
	}
	return x.shadow
}

// prepare binds the statement in the shadow: its names must be objects of the lake, and DuckDB's parser must see
// the same kind of statement as the tokens told.
func (x *analyzer) prepare() error {
	shadow, ats, err := withoutAt(x.text)
	if err != nil {
		return err
	}
	for _, at := range ats {
		x.a.AtClauses = append(x.a.AtClauses, at.clause)
	}
	x.shadow = shadow
	stmt, err := x.conn.Prepare(x.ctx, shadow)
	if e := new(duck.Error); errors.As(err, &e) && strings.Contains(e.Message, "snapshot_id") {
		if other, ok := x.rowids(); ok {
			if again, err2 := x.conn.Prepare(x.ctx, other); err2 == nil {
				stmt, err, x.shadow, x.snaps = again, nil, other, true
			}
		}
	}
	if err != nil {
		return x.refused(err)
	}
	if want := expected[x.a.Kind]; stmt.Kind() != want {
		kind := stmt.Kind()
		_ = stmt.Close()
		return fault.StatementForbidden.Newf("the statement is a %s, not a %s as it seems", kind, want).At(0)
	}
	x.describe(stmt)
	return stmt.Close()
}

// refused is DuckDB's refusal, better said where the gate knows more.
func (x *analyzer) refused(err error) error {
	var e *duck.Error
	if errors.As(err, &e) && e.Type == "Parser" && strings.Contains(e.Message, "a single statement was expected") {
		return fault.NotYetSupported.Newf("PIVOT needs its values, since they decide the result's columns").
			WithHint("PIVOT … ON column IN (value, …)")
	}
	if why, name := x.brokenName(); why != "" {
		return fault.StatementForbidden.Newf("%s cannot be used: %s", name, why)
	}
	err = refused(err, 0)
	if f := new(fault.Error); errors.As(err, &f) && f.Code == fault.ObjectNotFound && f.Position == fault.NoPosition && len(x.st.target) > 0 {
		f.Position = x.st.target[0].start
	}
	return err
}

// rowids is the shadow text with the lake's snapshot_id column replaced by rowid, which the shadow's tables have.
func (x *analyzer) rowids() (string, bool) {
	b := []byte(x.shadow)
	found := false
	for _, t := range x.toks {
		if t.is("snapshot_id") {
			copy(b[t.start:t.end], "rowid      ")
			found = true
		}
	}
	return string(b), found
}

func (x *analyzer) describe(stmt *duck.Stmt) {
	for _, p := range stmt.Params() {
		x.a.Params = append(x.a.Params, Param(p))
	}
	for _, c := range stmt.Columns() {
		if x.snaps && c.Name == "rowid" {
			c.Name = "snapshot_id"
		}
		x.a.Columns = append(x.a.Columns, column(c))
	}
}

func column(c duck.Column) Column {
	return Column{Name: c.Name, Type: c.Type, LakeType: LakeType(c.Type)}
}

// reads plans a text and takes what it scans as the statement's reads.
func (x *analyzer) reads(sql string) error {
	scans, _, err := explain(x.ctx, x.conn, sql, len(x.a.Params))
	if err != nil {
		return x.refused(err)
	}
	seen := map[TableRef]bool{}
	for _, s := range scans {
		if s.function != "" {
			if err := x.scanAllowed(s.function); err != nil {
				return err
			}
			continue
		}
		ref, err := x.table(s.table)
		if err != nil {
			return err
		}
		x.a.TouchesTemp = x.a.TouchesTemp || ref.Catalog == tempCatalog
		if !seen[ref] && x.a.Kind != CreateView {
			seen[ref] = true
			x.a.Reads = append(x.a.Reads, ref)
		}
		if x.a.Kind == CreateView && ref.Catalog == tempCatalog && !x.st.temp {
			return fault.TemporarySource.Newf("a view of the lake cannot read the temporary object %s", ref.Name)
		}
	}
	return nil
}

// scanAllowed is the third lock for table functions: also those inside of views.
func (x *analyzer) scanAllowed(function string) error {
	switch {
	case allowedScan[function], x.env.Admin && adminTable[function]:
		return nil
	case function == "duckdb_databases" && x.a.Inner == Describe:
		return nil // SHOW DATABASES and SHOW SCHEMAS give names only
	}
	why := deniedFunction[function]
	if why == "" {
		why = "it is not on the list of functions this server knows"
	}
	return refuseFunction(function, why, fault.NoPosition)
}

// dml finds the table that is written.
func (x *analyzer) dml() error {
	a := x.a
	ref, err := x.resolve(x.st.target)
	if err != nil {
		return err
	}
	at := x.st.target[0].start
	switch {
	case ref.Catalog == vegaCatalog:
		return fault.StatementForbidden.Newf("%s.%s is the server's own table", ref.Catalog, ref.Name).At(at)
	case ref.Catalog != tempCatalog && ref.ID == 0 && ref.UUID == "":
		return fault.StatementForbidden.Newf("%s is not a table of the lake", ref.Name).At(at)
	}
	if why := x.inst.mirror.broken[keyOf(ref.Schema, ref.Name)]; why != "" && ref.Catalog != tempCatalog {
		return fault.StatementForbidden.Newf("table %s cannot be written: %s", ref.Name, why).At(at)
	}
	for _, t := range x.toks {
		a.returns = a.returns || t.is("returning")
	}
	a.TouchesTemp = a.TouchesTemp || ref.Catalog == tempCatalog
	a.Writes = []TableRef{ref}
	a.steady = len(a.Params) > 0 && a.Kind != Insert && x.steady(ref)
	if a.Kind == Explain {
		a.returns, a.ReadOnly = true, !a.Execute
	}
	return nil
}

// constantly are functions that take some arguments, or give their types, only as constants.
var constantly = set(`array_extract constant_or_null current_schemas date_part datepart icu_sort_key regexp_extract round round_even roundbankers
	strftime strptime struct_extract struct_extract_at trunc try_strptime`)

func (x *analyzer) steady(ref TableRef) bool {
	for _, f := range x.a.Functions {
		if x.inst.mirror.macro(f) || x.gate.functions[f] == volatileFn || constantly[f] {
			return false
		}
	}
	t := x.inst.mirror.tables[keyOf(ref.Schema, ref.Name)]
	return t != nil && t.column("rowid") == nil
}

// unread forgets the tables of a statement that is explained only.
func (x *analyzer) unread() {
	if !x.a.Execute {
		x.a.Reads, x.a.Writes = nil, nil
	}
}
