package bind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Planner makes operators of queries with DuckDB's own binder and optimizer. It is an instance of its own, since which
// optimizers run is a setting of the instance, and it holds nothing: each query brings the tables it reads, which are made empty in a
// transaction that is rolled back. One query is planned at a time.
type Planner struct {
	lake string
	turn chan struct{}
	db   *duck.DB
	conn *duck.Conn

	volatile map[string]bool // functions whose calls may differ within a query
	session  map[string]bool // functions that give something of the session, the transaction or the clock
}

// Query is a query to be planned.
type Query struct {
	SQL      string         // canonical: it names its sources as lake.schema.table, and no plain views or macros of the lake
	Text     string         // what positions in reasons shall mean; "" is SQL
	TimeZone string         // "" is UTC
	Sources  []*plan.Source // what it reads, with the catalog "" or the lake's
	Setup    []string       // statements that make views and macros first; for texts that are not canonical

	Keeps func(row.Type) (why, hint string) // see plan.Input
}

// disabledOptimizers choose by statistics that shadow tables do not have, or make shapes that are harder to maintain than what they
// replace.
const disabledOptimizers = `statistics_propagation,join_order,build_side_probe_side,compressed_materialization,join_filter_pushdown,top_n,` +
	`late_materialization,column_lifetime,reorder_filter,row_group_pruner,top_n_window_elimination,common_aggregate,sampling_pushdown,` +
	`materialized_cte,sum_rewriter,cte_inlining,common_subexpressions,common_subplan,limit_pushdown,window_self_join,join_elimination,in_clause,unused_columns`

// NewPlanner opens a planner for queries of a lake of that name.
func NewPlanner(ctx context.Context, lake string) (*Planner, error) {
	p := &Planner{lake: lake, turn: make(chan struct{}, 1)}
	return p, p.open(ctx)
}

func (p *Planner) open(ctx context.Context) (err error) {
	p.db, err = duck.Open("", duck.Options{Config: map[string]string{
		"threads": "1", "memory_limit": "512MB", "temp_directory": "",
		"autoload_known_extensions": "false", "autoinstall_known_extensions": "false",
	}})
	if err != nil {
		return fault.InternalError.Wrap(err, "opening the planner")
	}
	defer func() {
		if err != nil {
			err = errors.Join(fault.InternalError.Wrap(err, "opening the planner"), p.close())
		}
	}()
	if p.conn, err = p.db.Connect(); err != nil {
		return err
	}
	for _, sql := range []string{
		"SET disabled_optimizers = '" + disabledOptimizers + "'",
		"ATTACH ':memory:' AS " + metadata.QuoteIdent(p.lake),
		"SET enable_external_access = false",
	} {
		if _, err = p.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	rows, err := p.conn.Rows(ctx, `SELECT lower(function_name), bool_or(stability = 'VOLATILE') FROM duckdb_functions()
		WHERE database_name = 'system' AND stability <> 'CONSISTENT' GROUP BY ALL`)
	if err != nil {
		return err
	}
	p.volatile, p.session = map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		if r[1] == true {
			p.volatile[r[0].(string)] = true
		} else {
			p.session[r[0].(string)] = true
		}
	}
	for name := range sessionValues {
		p.session[name] = true
	}
	return nil
}

// sessionValues are functions that DuckDB calls consistent although they give something of the session; some are constants before there
// is a plan.
var sessionValues = map[string]bool{"current_user": true, "session_user": true, "user": true, "current_role": true, "current_catalog": true,
	"current_setting": true, "getvariable": true, "pg_postmaster_start_time": true, "pg_conf_load_time": true, "current_localtimestamp": true,
	"current_localtime": true}

// sessionWords names those that stand in the query's text.
func sessionWords(tree any, sources []*plan.Source) []string {
	columns := columnNames(sources)
	var out []string
	eachObject(tree, func(v map[string]any) {
		name, _ := v["function_name"].(string)
		if names, ok := v["column_names"].([]any); ok && v["class"] == "COLUMN_REF" && len(names) == 1 {
			if name, _ = names[0].(string); columns[strings.ToLower(name)] {
				name = ""
			}
		}
		if name = strings.ToLower(name); sessionValues[name] && clockTypes[name] == "" {
			out = append(out, name)
		}
	})
	return out
}

// parse is DuckDB's parse tree of a query.
func (p *Planner) parse(ctx context.Context, sql string) (tree any, err error) {
	text, err := p.text(ctx, "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", sql)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, fmt.Errorf("bind: parse tree: %w", err)
	}
	return tree, nil
}

// columnNames are the names that a column of a source has, in lower case: a column of that name comes before a word of SQL's.
func columnNames(sources []*plan.Source) map[string]bool {
	names := map[string]bool{}
	for _, s := range sources {
		for _, c := range s.Columns {
			names[strings.ToLower(c.Name)] = true
		}
	}
	return names
}

// eachObject shows every object of a parse tree to f, outer ones first and in the order of their keys.
func eachObject(tree any, f func(map[string]any)) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			eachObject(e, f)
		}
	case map[string]any:
		f(v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachObject(v[k], f)
		}
	}
}

// Close ends the instance, after the query that is being planned.
func (p *Planner) Close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	return p.close()
}

func (p *Planner) close() error {
	var err error
	if p.conn != nil {
		err = p.conn.Close()
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	p.conn, p.db = nil, nil
	return err
}

// Plan plans a query. It fails when DuckDB refuses the query; why it cannot be maintained is in the plan.
func (p *Planner) Plan(ctx context.Context, q Query) (*plan.Plan, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	in, err := p.input(ctx, q)
	if err != nil {
		return nil, err
	}
	if p.conn == nil { // it was closed for what it was left with
		if err := p.open(ctx); err != nil {
			return nil, err
		}
	}
	in.Evaluator = evaluates{ctx, p.conn}
	pl, err := plan.Read(in)
	if err == nil {
		err = ctx.Err() // it would be a reason else
	}
	return pl, err
}

// Input is what a plan is read from: what DuckDB says of the query.
func (p *Planner) Input(ctx context.Context, q Query) (plan.Input, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return plan.Input{}, err
	}
	defer leave()
	return p.input(ctx, q)
}

// enter waits for its turn.
func (p *Planner) enter(ctx context.Context) (leave func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *Planner) input(ctx context.Context, q Query) (plan.Input, error) {
	if p.db == nil || p.db.Poisoned() != nil {
		if err := errors.Join(p.close(), p.open(ctx)); err != nil {
			return plan.Input{}, err
		}
	}
	if q.TimeZone == "" {
		q.TimeZone = "UTC"
	}
	if q.Text == "" {
		q.Text = q.SQL
	}
	if err := p.begin(ctx, q); err != nil {
		return plan.Input{}, errors.Join(err, p.rollback(ctx))
	}
	in, err := p.ask(ctx, q)
	return in, errors.Join(err, p.rollback(ctx))
}

// begin makes the query's tables in a new transaction.
func (p *Planner) begin(ctx context.Context, q Query) error {
	lake := metadata.QuoteIdent(p.lake)
	run := func(sql string) error {
		if _, err := p.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("bind: %s: %w", sql, err)
		}
		return nil
	}
	err := errors.Join(run("SET TimeZone = '"+strings.ReplaceAll(q.TimeZone, "'", "''")+"'"), run("USE "+lake+".main"), run("BEGIN"))
	if err != nil {
		return err
	}
	made := map[string]bool{"main": true}
	for _, s := range q.Sources {
		schema := s.Schema
		if schema == "" {
			schema = "main"
		}
		if !made[strings.ToLower(schema)] {
			made[strings.ToLower(schema)] = true
			if err := run("CREATE SCHEMA " + lake + "." + metadata.QuoteIdent(schema)); err != nil {
				return err
			}
		}
		cols := make([]string, len(s.Columns))
		for i, c := range s.Columns {
			cols[i] = metadata.QuoteIdent(c.Name) + " " + c.Type.String()
			if c.Type.Collation != "" {
				cols[i] += " COLLATE " + c.Type.Collation
			}
		}
		if len(cols) == 0 { // count(*) alone
			cols = []string{`"no column" BOOLEAN`}
		}
		if err := run("CREATE TABLE " + lake + "." + metadata.QuoteIdent(schema) + "." + metadata.QuoteIdent(s.Name) + " (" + strings.Join(cols, ", ") + ")"); err != nil {
			return err
		}
	}
	for _, sql := range q.Setup {
		if err := run(sql); err != nil {
			return err
		}
	}
	return nil
}

// rollback leaves the instance as it was. What it cannot leave so is replaced before the next query.
func (p *Planner) rollback(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := p.conn.Exec(ctx, "ROLLBACK"); err != nil {
		return p.close()
	}
	return nil
}

// ask gets DuckDB's plan, with the clock as a parameter, and what it knows of the query beside.
func (p *Planner) ask(ctx context.Context, q Query) (plan.Input, error) {
	in := plan.Input{SQL: q.Text, Sources: q.Sources, Volatile: p.volatile, Keeps: q.Keeps}
	tree, err := p.parse(ctx, q.SQL)
	if err != nil {
		return in, err
	}
	if err := checkDepth(tree); err != nil {
		return in, err
	}
	sql := withClock(q.SQL, tree, q.Sources)
	if in.JSON, err = p.optimized(ctx, sql); err != nil {
		return in, err
	}
	unoptimized, err := p.text(ctx, "SELECT json_serialize_plan(?::VARCHAR, optimize := false)::VARCHAR", sql)
	if err != nil {
		return in, err
	}
	for _, name := range append(p.sessionCalls(unoptimized), sessionWords(tree, q.Sources)...) {
		in.Reasons = append(in.Reasons, plan.Reason{Code: plan.VolatileFunction, Position: plan.NoPosition,
			Message: name + " gives something of the session or the moment, which no change of a source tells"})
	}
	if stmt, err := p.conn.Prepare(ctx, sql); err == nil {
		// An expression without an alias is called by its text, and the clock has changed that; so the names are the query's own.
		in.Names = p.names(ctx, q.SQL)
		if err := stmt.Close(); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (p *Planner) names(ctx context.Context, sql string) []string {
	stmt, err := p.conn.Prepare(ctx, sql)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range stmt.Columns() {
		out = append(out, c.Name)
	}
	if stmt.Close() != nil {
		return nil
	}
	return out
}

func (p *Planner) text(ctx context.Context, sql string, arg any) (string, error) {
	rows, err := p.conn.Rows(ctx, sql, arg)
	if err != nil {
		return "", err
	}
	s, _ := rows[0][0].(string)
	return s, nil
}

// optimized is DuckDB's plan. Two faults of DuckDB are gone around: a folded BIT or BIGNUM makes the answer an empty text, so then
// constants stay unfolded; and some queries end in internal errors unless one or the other optimizer runs.
func (p *Planner) optimized(ctx context.Context, sql string) (out string, err error) {
	const ask = "SELECT json_serialize_plan(?::VARCHAR, optimize := true)::VARCHAR"
	out, err = p.text(ctx, ask, sql)
	if err != nil || !failed(out) {
		return out, err
	}
	defer func() {
		_, reset := p.conn.Exec(context.WithoutCancel(ctx), "SET disabled_optimizers = '"+disabledOptimizers+"'")
		err = errors.Join(err, reset)
	}()
	ways := []string{
		without(disabledOptimizers, "build_side_probe_side", "unused_columns"), without(disabledOptimizers, "unused_columns"),
		without(disabledOptimizers, "build_side_probe_side"),
	}
	if out == "" {
		ways = []string{disabledOptimizers + ",expression_rewriter"}
	}
	for _, disabled := range ways {
		if _, err := p.conn.Exec(ctx, "SET disabled_optimizers = '"+disabled+"'"); err != nil {
			return "", err
		}
		if out, err = p.text(ctx, ask, sql); err != nil || !failed(out) {
			return out, err
		}
	}
	return "", fault.NotYetSupported.Newf("DuckDB cannot tell the plan of this query").
		WithHint("take it apart, or take constants of the types BIT and BIGNUM out of it")
}

// failed says that the answer is DuckDB's fault and not the query's.
func failed(out string) bool {
	return out == "" || strings.HasPrefix(out, `{"error":true,"error_type":"internal"`)
}

// without takes names out of a list.
func without(list string, names ...string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return slices.Contains(names, s) }), ",")
}

// sessionCalls names the functions in a plan that give something of the session.
func (p *Planner) sessionCalls(text string) []string {
	var out []string
	for rest := text; ; {
		_, after, found := strings.Cut(rest, `"name":"`)
		if !found {
			return out
		}
		name, tail, _ := strings.Cut(after, `"`)
		if rest = tail; p.session[strings.ToLower(name)] && strings.HasPrefix(tail, `,"arguments"`) {
			out = append(out, name)
		}
	}
}

// clockTypes are the ways to name the clock, with the type that each gives.
var clockTypes = map[string]string{
	"now": "", "get_current_timestamp": "", "transaction_timestamp": "", "current_timestamp": "", "today": "DATE", "current_date": "DATE",
	"localtimestamp": "TIMESTAMP", "current_localtimestamp": "TIMESTAMP", "current_time": "TIMETZ", "get_current_time": "TIMETZ", "localtime": "TIME",
	"current_localtime": "TIME",
}

// clockWords may stand without parentheses.
var clockWords = map[string]bool{"current_timestamp": true, "current_date": true, "localtimestamp": true, "current_time": true, "localtime": true}

// withClock puts a function of a parameter in place of now() and its like, which DuckDB would fold to constants.
func withClock(sql string, tree any, sources []*plan.Source) string {
	taken := columnNames(sources)
	var edits []edit
	eachObject(tree, func(v map[string]any) {
		if e, ok := clockCall(sql, v, taken); ok {
			edits = append(edits, e)
		}
	})
	return apply(sql, edits)
}

func clockCall(sql string, v map[string]any, taken map[string]bool) (edit, bool) {
	at, ok := location(v)
	if !ok || at >= len(sql) {
		return edit{}, false
	}
	name, _ := v["function_name"].(string)
	if names, isRef := v["column_names"].([]any); isRef && v["class"] == "COLUMN_REF" && len(names) == 1 {
		name, _ = names[0].(string)
		name = strings.ToLower(name)
		if !clockWords[name] || taken[name] {
			return edit{}, false
		}
	} else if v["class"] != "FUNCTION" {
		return edit{}, false
	}
	typ, known := clockTypes[strings.ToLower(name)]
	if !known {
		return edit{}, false
	}
	s := scanner{text: sql, pos: at}
	words := s.names(3)
	if len(words) == 0 || !strings.EqualFold(words[len(words)-1], name) || sql[at] == '"' && v["class"] == "COLUMN_REF" {
		return edit{}, false
	}
	end := s.pos
	if v["class"] == "FUNCTION" {
		for _, c := range "()" {
			s.space()
			if s.pos >= len(sql) || rune(sql[s.pos]) != c {
				return edit{}, false
			}
			s.pos++
		}
		end = s.pos
	}
	text := "make_timestamptz(CAST($" + plan.ClockParameter + " AS BIGINT))"
	if typ != "" {
		text = "CAST(" + text + " AS " + typ + ")"
	}
	return edit{at, end, text}, true
}
