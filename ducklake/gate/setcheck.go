package gate

import (
	"github.com/vegadb/vega-flight/fault"
)

// settings checks USE, SET and RESET against the lake.
func (x *analyzer) settings() error {
	a, st := x.a, x.st
	effect := *st.effect
	a.Effect = &effect
	switch effect.Kind {
	case UseSchema:
		return x.use()
	case SetOption:
		if effect.Option != "timezone" {
			return nil
		}
		zone, ok := effect.Value.(string)
		if !ok {
			return fault.InvalidOption.Newf("TimeZone takes the name of a time zone").At(st.valueAt(x.toks))
		}
		if _, err := x.conn.Exec(x.ctx, "SET TimeZone = "+literal(zone)); err != nil {
			return fault.InvalidOption.Newf("%q is not a time zone", zone).At(st.valueAt(x.toks)).
				WithHint("SELECT name FROM pg_timezone_names()")
		}
	case SetVariable:
		a.TouchesTemp = true
		if st.kind == Reset {
			return nil
		}
		if st.expr >= len(x.toks) {
			return fault.SyntaxError.Newf("an expression was expected").At(len(x.text))
		}
		// The expression is bound as that of a SELECT at the same place; the words before it are longer.
		if err := x.prepare(); err != nil {
			return err
		}
		at := x.toks[st.expr].start
		const head = "SELECT "
		b := []byte(blank(x.shadow, 0, at))
		copy(b[at-len(head):], head)
		if err := x.reads(string(b)); err != nil {
			return err
		}
		a.Columns = nil
	}
	return nil
}

// valueAt is where the value of a SET is.
func (st *statement) valueAt(toks []token) int { return toks[len(toks)-1].start }

// use checks the schema that becomes the search path: only schemas of the lake do.
func (x *analyzer) use() error {
	name := x.st.target
	lake := x.gate.config.Lake
	at := name[0].start
	schema := ""
	switch len(name) {
	case 1:
		switch first := name[0]; {
		case x.inst.mirror.schemas[first.lower] != "" && first.lower != lower(lake):
			schema = first.text
		case first.lower == lower(lake):
			schema = "main"
		case takenSchema[first.lower]:
			return fault.StatementForbidden.Newf("a session works in the lake, not in %s", first.text).At(at)
		default:
			schema = first.text
		}
	case 2:
		if name[0].lower != lower(lake) {
			return fault.StatementForbidden.Newf("a session works in the lake, not in %s", name[0].text).At(at)
		}
		schema = name[1].text
	}
	known := x.inst.mirror.schemas[lower(schema)]
	if known == "" {
		return fault.ObjectNotFound.Newf("the lake has no schema %s", schema).At(at)
	}
	x.a.Effect.Catalog, x.a.Effect.Schema = lake, known
	return nil
}
