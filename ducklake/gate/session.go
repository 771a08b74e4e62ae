package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// Env is the part of a session's settings that decides what a text means.
type Env struct {
	Catalog, Schema string
	TimeZone        string
	Admin           bool
}

// Session analyses the statements of one SQL session. It may be used from several goroutines; they take turns.
type Session struct {
	gate *Gate

	mu     sync.Mutex
	inst   *instance
	conn   *duck.Conn
	path   string // the search path that conn has
	macros bool   // the ducklake_* macros are made
	closed bool

	temp   map[string]ObjectType // temporary objects by lower-case name; macros as "name("
	bodies map[string]body       // of the temporary views and macros

	// made is what made the temporary objects, so that another shadow can have them too.
	made      []replayed
	madeBytes int
	lost      bool // the shadow does not have the temporary objects
}

// replayed is DDL of a temporary object, and the search path that it was run with.
type replayed struct{ path, sql string }

// maxMade bounds the texts that are kept of one session.
const maxMade = 1 << 20

// begin waits for a shadow, and moves to it when it is another one than the session's. The caller holds mu.
func (s *Session) begin(ctx context.Context) (leave func(), err error) {
	in, err := s.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	if s.inst == in {
		err = s.gate.part(in) // the session is a user already
	} else {
		err = s.move(ctx, in)
	}
	if err == nil && s.lost {
		err = fault.SessionNotFound.Newf("the session's temporary objects are no longer known").WithHint("open another session")
	}
	if err != nil {
		in.turn.leave()
		return nil, err
	}
	return in.turn.leave, nil
}

// move brings the session, a user of in, there.
func (s *Session) move(ctx context.Context, in *instance) error {
	conn, err := in.db.Connect()
	if err != nil {
		return errors.Join(fault.InternalError.Wrap(err, "opening a shadow session"), s.gate.part(in))
	}
	old := errors.Join(s.conn.Close(), s.gate.part(s.inst))
	s.inst, s.conn, s.path, s.macros = in, conn, "", false
	if len(s.temp) == 0 || s.lost {
		return old
	}
	s.lost = s.madeBytes > maxMade || !s.remake(context.WithoutCancel(ctx))
	return old
}

// remake makes the temporary objects in a shadow that has none.
func (s *Session) remake(ctx context.Context) bool {
	if err := s.prepareMacros(ctx); err != nil {
		return false
	}
	for _, r := range s.made {
		s.path = ""
		if _, err := s.conn.Exec(ctx, "USE "+r.path); err != nil {
			return false
		}
		if _, err := s.conn.Exec(ctx, r.sql); err != nil {
			return false
		}
	}
	had := s.temp
	return s.listTemp(ctx) == nil && maps.Equal(had, s.temp)
}

// Analyze admits a text of exactly one statement or says why not.
func (s *Session) Analyze(ctx context.Context, sql string, env Env) (*Analysis, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.SessionNotFound.Newf("the session is closed")
	}
	leave, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !s.inst.mirror.loaded {
		return nil, fault.InternalError.Newf("the gate knows no schema yet")
	}
	env = env.complete(s.gate.config.Lake)
	k := cacheKey{sql, env.Catalog, env.Schema, env.Admin}
	if len(s.temp) == 0 {
		if a := s.inst.cache.get(k); a != nil {
			return a, nil
		}
	}
	a, err := s.analyze(ctx, sql, env)
	if err != nil {
		return nil, err
	}
	if len(s.temp) == 0 {
		s.inst.cache.add(k, a)
	}
	return a, nil
}

func (e Env) complete(lake string) Env {
	if e.Catalog == "" {
		e.Catalog = lake
	}
	if e.Schema == "" {
		e.Schema = "main"
	}
	return e
}

// enter gives the shadow connection the session's search path and the lake's functions.
func (s *Session) enter(ctx context.Context, env Env) error {
	if err := s.prepareMacros(ctx); err != nil {
		return err
	}
	if lower(env.Catalog) != lower(s.gate.config.Lake) || s.inst.mirror.schemas[lower(env.Schema)] == "" {
		return fault.ObjectNotFound.Newf("the session's schema %s.%s does not exist", env.Catalog, env.Schema).
			WithHint("choose another one: USE %s.main", s.gate.config.Lake)
	}
	path := ident(env.Catalog) + "." + ident(env.Schema)
	if s.path == path {
		return nil
	}
	s.path = ""
	if _, err := s.conn.Exec(ctx, "USE "+path); err != nil {
		return refused(err, 0)
	}
	s.path = path
	return nil
}

func (s *Session) prepareMacros(ctx context.Context) error {
	if s.macros {
		return nil
	}
	for _, sql := range sessionMacros() {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return fault.InternalError.Wrap(err, "preparing a shadow session")
		}
	}
	s.macros = true
	return nil
}

// Applied tells that a's temporary DDL succeeded, so that the shadow follows.
func (s *Session) Applied(ctx context.Context, a *Analysis) error {
	if a.replay == "" {
		return nil
	}
	if err := s.follow(ctx, a.replay); err != nil {
		return err
	}
	if a.Kind == CreateView || a.Kind == CreateMacro {
		s.remember(a)
	}
	return nil
}

// remember keeps the text of a temporary view or macro.
func (s *Session) remember(a *Analysis) {
	toks, _, err := scan(a.replay)
	if err != nil {
		return
	}
	st, err := read(toks, len(a.replay))
	if err != nil {
		return
	}
	name, b := lower(a.Creates[0].Name), body{}
	if a.Kind == CreateMacro {
		name += "("
		b = macroBody(toks, st.target)
	} else {
		b.toks = toks[st.queryFrom:st.queryTo]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[string]body{}
	}
	s.bodies[name] = b
}

// macroBody is what follows a macro's name in its CREATE, with the parameters of the first overload.
func macroBody(toks, target []token) (b body) {
	last := target[len(target)-1]
	for i, t := range toks {
		if t.start != last.start || i+1 >= len(toks) {
			continue
		}
		args, _ := splitArguments(toks, i+1)
		for _, arg := range args {
			if len(arg) > 0 {
				b.params = append(b.params, arg[0].lower)
			}
		}
		b.toks = toks[i+1:]
	}
	return b
}

// weigher is the mirror's with the session's own objects. The caller holds mu and the gate's.
func (s *Session) weigher() *weigher {
	if len(s.bodies) == 0 {
		return s.inst.mirror.weigh
	}
	w := newWeigher(nil)
	for name, b := range s.bodies {
		if s.temp[name] != "" {
			w.add(name, b)
		}
	}
	for name, list := range s.inst.mirror.weigh.bodies {
		for _, b := range list {
			w.add(name, b)
		}
	}
	return w
}

// CreatedTemp tells that a temporary table was made other than by a statement, in place of one of that name.
func (s *Session) CreatedTemp(ctx context.Context, name string, columns []Column) error {
	return s.follow(ctx, tempTable("CREATE OR REPLACE TEMP TABLE "+ident(name), columns))
}

func tempTable(head string, columns []Column) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = ident(c.Name) + " " + c.Type
	}
	return head + " (" + strings.Join(parts, ", ") + ")"
}

func (s *Session) follow(ctx context.Context, sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	leave, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := s.conn.Exec(ctx, sql); err != nil {
		return fault.InternalError.Wrap(err, "mirroring a temporary object")
	}
	s.keep(sql)
	return s.listTemp(ctx)
}

// keep keeps what made a temporary object, until there is none any more.
func (s *Session) keep(sql string) {
	if len(s.temp) == 0 {
		s.made, s.madeBytes = nil, 0
	}
	path := s.path
	if path == "" {
		path = ident(s.gate.config.Lake) + ".main"
	}
	if s.madeBytes += len(sql) + len(path); s.madeBytes > maxMade {
		s.made = nil
		return
	}
	s.made = append(s.made, replayed{path, sql})
}

// listTemp asks the shadow which temporary objects there are.
func (s *Session) listTemp(ctx context.Context) error {
	rows, err := s.conn.Rows(ctx, `SELECT 'table', table_name FROM duckdb_tables() WHERE temporary
		UNION ALL SELECT 'view', view_name FROM duckdb_views() WHERE temporary AND NOT internal
		UNION ALL SELECT DISTINCT CASE function_type WHEN 'table_macro' THEN 'table macro' ELSE 'macro' END, function_name
			FROM duckdb_functions() WHERE database_name = 'temp'`)
	if err != nil {
		return fault.InternalError.Wrap(err, "listing temporary objects")
	}
	temp := map[string]ObjectType{}
	for _, r := range rows {
		kind, name := ObjectType(fmt.Sprint(r[0])), lower(fmt.Sprint(r[1]))
		if kind == ScalarMacro || kind == TableMacroObject {
			if catalogFunction[name] {
				continue
			}
			name += "("
		}
		temp[name] = kind
	}
	s.temp = temp
	return nil
}

// vocabulary of a session is the mirror's and its temporary macros.
type sessionWords struct {
	*mirror
	temp map[string]ObjectType
}

func (w sessionWords) macro(name string) bool {
	return w.mirror.macro(name) || w.temp[name+"("] != ""
}

// Close ends the session's shadow connection.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.conn.Close(), s.gate.part(s.inst))
}
