package dataflow

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
)

// truth is SQL's: true, false or nil.
type truth any

func and(a, b truth) truth {
	switch {
	case a == false || b == false:
		return false
	case a == nil || b == nil:
		return nil
	}
	return true
}

func equal(a, b any) truth {
	if a == nil || b == nil {
		return nil
	}
	return a == b
}

// joinCase is a join over (k, v, text) rows and its definition.
type joinCase struct {
	kind     JoinKind
	keys     int // leading fields that are compared
	nullSafe bool
	pred     func(l, r []any) (truth, error)
	aware    bool
	compared int // of the keys, when it is more than the last one
	output   []int
}

var sideLayout = row.ParseLayout("BIGINT", "BIGINT", "VARCHAR")

func (c joinCase) spec() JoinSpec {
	s := JoinSpec{Kind: c.kind, Left: JoinSide{Layout: sideLayout}, Right: JoinSide{Layout: sideLayout}, NullAware: c.aware, Compared: c.compared, Output: c.output}
	if c.keys > 0 {
		fields := []int{0, 1}[:c.keys]
		s.Left.Keys, s.Right.Keys = fieldsOf(sideLayout, fields...), fieldsOf(sideLayout, fields...)
		for i := range fields {
			s.NullSafe = append(s.NullSafe, c.nullSafe || c.aware && (c.pred != nil || i < c.keys-max(1, c.compared)))
		}
	}
	if c.pred != nil {
		s.Predicate = &funcProgram{PairLayout(sideLayout, sideLayout), row.ParseLayout("BOOLEAN"), func(r []any) ([]any, error) {
			v, err := c.pred(r[:3], r[3:])
			return []any{v}, err
		}}
	}
	return s
}

// on is the join's condition; report says that a predicate's error counts.
func (c joinCase) on(l, r []any) (chosen bool, v truth, err error) {
	s := c.spec()
	v = true
	if c.compared > 1 {
		for i := c.keys - c.compared; i < c.keys; i++ {
			if l[i] == nil || r[i] == nil {
				return true, nil, nil
			}
		}
	}
	for i := range c.keys {
		if s.NullSafe[i] {
			if l[i] != r[i] {
				return false, false, nil
			}
			continue
		}
		if v = and(v, equal(l[i], r[i])); v != true && !c.aware {
			return false, v, nil
		}
	}
	if c.pred != nil {
		p, err := c.pred(l, r)
		if err != nil {
			return true, nil, err
		}
		v = and(v, p)
	}
	return true, v, nil
}

func (c joinCase) content(in []bag, errs *modelErrors) bag {
	out := bag{}
	null := []any{nil, nil, nil}
	give := func(r []any, n int64) {
		if c.output != nil {
			cut := []any{}
			for _, f := range c.output {
				cut = append(cut, r[f])
			}
			r = cut
		}
		out.add(r, n)
	}
	both := func(a, b []any) []any { return append(append([]any{}, a...), b...) }
	met := map[string]bool{}
	for _, l := range in[0].ordered() {
		partners, unknowns := int64(0), int64(0)
		var partner []any
		for _, r := range in[1].ordered() {
			chosen, v, err := c.on(l.row, r.row)
			if err != nil {
				errs.add(err.Error(), l.n*r.n)
				continue
			}
			if chosen && v == nil {
				unknowns += r.n
			}
			if v != true {
				continue
			}
			partners += r.n
			partner = r.row
			met[plainText(r.row)] = true
			if c.kind.pairs() && c.kind != JoinSingle {
				give(both(l.row, r.row), l.n*r.n)
			}
		}
		switch c.kind {
		case JoinLeft, JoinFull:
			if partners == 0 {
				give(both(l.row, null), l.n)
			}
		case JoinSingle:
			switch partners {
			case 0:
				give(both(l.row, null), l.n)
			case 1:
				give(both(l.row, partner), l.n)
			default:
				errs.add(errSeveralRows.Error(), l.n)
			}
		case JoinSemi:
			if partners > 0 {
				give(l.row, l.n)
			}
		case JoinAnti:
			if partners == 0 {
				give(l.row, l.n)
			}
		case JoinMark:
			switch {
			case partners > 0:
				give(both(l.row, []any{true}), l.n)
			case c.aware && unknowns > 0:
				give(both(l.row, []any{nil}), l.n)
			default:
				give(both(l.row, []any{false}), l.n)
			}
		}
	}
	if c.kind == JoinRight || c.kind == JoinFull {
		for _, r := range in[1].ordered() {
			if !met[plainText(r.row)] {
				give(both(null, r.row), r.n)
			}
		}
	}
	return out
}

var modelTexts = []any{nil, "a", "twelve bytes", "a text that is longer than what fits into two words", "another text that does not fit into them"}

// smallRow is a row over few values, so that rows meet.
func smallRow(rng *rand.Rand, _ int) []any {
	r := []any{any(rng.Int64N(4)), any(rng.Int64N(3)), modelTexts[rng.IntN(len(modelTexts))]}
	for f := range 2 {
		if rng.IntN(6) == 0 {
			r[f] = nil
		}
	}
	return r
}

func (c joinCase) model(name string) *modelCase {
	meet := c.keys // fields that are equal in all rows that decide about one another
	if c.aware && c.pred == nil {
		meet -= max(1, c.compared)
	}
	return &modelCase{
		name: name, in: []*row.Layout{sideLayout, sideLayout}, domain: smallRow, content: c.content,
		make:   func(t Tables) (Loader, error) { return NewJoin("j", c.spec(), t) },
		spread: spreadBy(sideLayout, 2, []int{0, 1}[:meet]...),
	}
}

var joinKindNames = []string{"inner", "left", "right", "full", "semi", "anti", "mark", "single"}

func valuesLess(l, r []any) (truth, error) {
	if l[1] == nil || r[1] == nil {
		return nil, nil
	}
	return l[1].(int64) <= r[1].(int64), nil
}

func valuesLessOrBad(l, r []any) (truth, error) {
	if l[1] == int64(2) && r[1] == int64(2) {
		return nil, errBadRow
	}
	return valuesLess(l, r)
}

func TestJoinsAgainstTheirDefinition(t *testing.T) {
	predicates := map[string]func(l, r []any) (truth, error){"": nil, "_predicate": valuesLess, "_failing": valuesLessOrBad}
	for kind := JoinInner; kind <= JoinSingle; kind++ {
		for suffix, pred := range predicates {
			for keys := range 3 {
				for _, nullSafe := range []bool{false, true} {
					if nullSafe && keys == 0 {
						continue
					}
					c := joinCase{kind: kind, keys: keys, nullSafe: nullSafe, pred: pred}
					if keys == 2 {
						c.output = []int{2, 0}
						if kind.pairs() {
							c.output = []int{5, 4, 0, 2, 1}
						}
					}
					if keys == 0 && pred == nil || nullSafe && keys == 1 {
						c.output = []int{} // as count(*) wants it
					}
					runModel(t, c.model(fmt.Sprintf("%s%s/keys=%d/null_safe=%v", joinKindNames[kind], suffix, keys, nullSafe)))
				}
			}
		}
	}
}

func TestJoinsThatGiveFewFields(t *testing.T) {
	for kind := JoinInner; kind <= JoinSingle; kind++ {
		for _, output := range [][]int{{}, {0}, {2}, {3}, {5}, {5, 0}} {
			if kind.pairs() || len(output) == 0 || output[0] < 3 {
				c := joinCase{kind: kind, keys: 1, output: output}
				runModel(t, c.model(fmt.Sprintf("%s/output=%v", joinKindNames[kind], output)))
			}
		}
	}
}

func TestNullAwareMarksAgainstTheirDefinition(t *testing.T) {
	runModel(t, joinCase{kind: JoinMark, keys: 1, aware: true}.model("value"))
	runModel(t, joinCase{kind: JoinMark, keys: 2, aware: true}.model("correlated"))
	runModel(t, joinCase{kind: JoinMark, keys: 0, aware: true, pred: valuesLess}.model("less_any"))
	runModel(t, joinCase{kind: JoinMark, keys: 1, aware: true, pred: valuesLess}.model("correlated_less_any"))
	pair := func(l, r []any) (truth, error) { return and(equal(l[0], r[0]), equal(l[1], r[1])), nil }
	runModel(t, joinCase{kind: JoinMark, keys: 0, aware: true, pred: pair}.model("rows"))
	runModel(t, joinCase{kind: JoinMark, keys: 2, aware: true, compared: 2}.model("pair"))
}

var histories = flag.Uint64("histories", 2, "random histories an operator is put through")

func runModel(t *testing.T, m *modelCase) {
	if m.spread != nil {
		t.Run(m.name+"/shards", func(t *testing.T) {
			for seed := range *histories {
				m.rescale(t, seed)
			}
		})
	}
	for _, self := range []bool{false, true} {
		if self && len(m.in) == 1 {
			continue
		}
		t.Run(fmt.Sprintf("%s/self=%v", m.name, self), func(t *testing.T) {
			for seed := range *histories {
				m.check(t, seed, 40, self)
			}
		})
	}
}
