package dataflow

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestJoinScripts runs testdata/{join,mark,asof,setop,distinct}. A script names an operator and steps it with text deltas, under
// the heading left, right or the number of the input. It shows the delta of the output and the errors there are; each is
// compared with the operator's definition, too.
//
//	join kind=K keys=N [null_safe] [aware] [predicate=P] [self] [where=W]    rows are (BIGINT, BIGINT, VARCHAR), keys the first N
//	asof kind=K op=N [text] [self]                                           key: the first; compared: the second or the text
//	set kind=K [keyed] [self], distinct [keys|on]                            rows are (BIGINT, VARCHAR)
func TestJoinScripts(t *testing.T) {
	for _, kind := range []string{"join", "mark", "asof", "setop", "distinct"} {
		datadriven.Walk(t, filepath.Join("testdata", kind), func(t *testing.T, path string) {
			s := &joinScript{}
			datadriven.RunTest(t, path, s.run)
		})
	}
}

type joinScript struct {
	g       *Graph
	model   *modelCase
	where   func(r []any) bool
	self    bool
	content []bag
	before  bag
}

var scriptPredicates = map[string]func(l, r []any) (truth, error){
	"v<=v":            valuesLess,
	"v<=v_or_2_fails": valuesLessOrBad,
	"v<>v": func(l, r []any) (truth, error) {
		if e := equal(l[1], r[1]); e != nil {
			return e == false, nil
		}
		return nil, nil
	},
	"r.v=1": func(_, r []any) (truth, error) { return equal(r[1], int64(1)), nil },
	"rows":  func(l, r []any) (truth, error) { return and(equal(l[0], r[0]), equal(l[1], r[1])), nil },
}

// scriptFilters are what may stand above a join; the right row begins at 3, and so does the mark.
var scriptFilters = map[string]func(r []any) bool{
	"right_is_null": func(r []any) bool { return r[3] == nil },
	"right_is_1":    func(r []any) bool { return r[4] == int64(1) },
	"not_marked":    func(r []any) bool { return r[3] == false },
	"v_is_1":        func(r []any) bool { return r[1] == int64(1) },
}

func (s *joinScript) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "step" {
		return s.step(t, d.Input)
	}
	arg := func(name, other string) string {
		for _, a := range d.CmdArgs {
			if a.Key == name && len(a.Vals) > 0 {
				return a.Vals[0]
			}
		}
		return other
	}
	number := func(name string) (n int) {
		fmt.Sscan(arg(name, "0"), &n)
		return n
	}
	switch d.Cmd {
	case "join":
		c := joinCase{
			kind: JoinKind(slices.Index(joinKindNames, arg("kind", ""))), keys: number("keys"),
			nullSafe: d.HasArg("null_safe"), aware: d.HasArg("aware"), pred: scriptPredicates[arg("predicate", "")],
		}
		s.model = c.model("")
	case "asof":
		field := 1
		if d.HasArg("text") {
			field = 2
		}
		s.model = asofModel(JoinKind(slices.Index(joinKindNames, arg("kind", ""))), AsofOp(number("op")), field, false)
	case "set":
		s.model = setModel(SetKind(slices.Index(setKindNames, arg("kind", ""))), d.HasArg("keyed"), 2)
	case "distinct":
		name := "rows"
		for _, a := range []string{"keys", "on"} {
			if d.HasArg(a) {
				name = a
			}
		}
		s.model = distinctModels()[name]
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	s.where, s.self = scriptFilters[arg("where", "")], d.HasArg("self")
	return s.start(t)
}

func (s *joinScript) start(t *testing.T) string {
	op, err := s.model.make(Memory{})
	if err != nil {
		t.Fatal(err)
	}
	s.g, s.content = NewGraph(), nil
	var from []int
	for i, l := range s.model.in {
		if i > 0 && s.self {
			from, s.content = append(from, from[0]), append(s.content, s.content[0])
			continue
		}
		from = append(from, s.g.Source(fmt.Sprint("in", i), l))
		s.content = append(s.content, bag{})
	}
	n := s.g.Add("op", op, from...)
	if s.where != nil {
		s.g.Add("where", NewMapping(&filterProgram{op.Layout(), s.where}), n)
	}
	s.before = bag{}
	return s.g.Layout().String() + "\n"
}

// filterProgram gives the rows that pass.
type filterProgram struct {
	layout *row.Layout
	pass   func(r []any) bool
}

func (p *filterProgram) Layout() *row.Layout { return p.layout }

func (p *filterProgram) Run(_ context.Context, in, out *zset.Batch, _ func(int, error)) error {
	for i, w := range in.Weights {
		if p.pass(plainRow(in.Layout, in.Row(i), in.Heap)) {
			out.Append(in.Row(i), in.Heap, w)
		}
	}
	return nil
}

func (s *joinScript) step(t *testing.T, text string) string {
	var deltas []*zset.Batch
	for i, l := range s.model.in {
		if i > 0 && s.self {
			break
		}
		deltas = append(deltas, zset.New(l))
	}
	at := 0
	for _, line := range strings.Split(text, "\n") {
		switch h := strings.TrimSpace(line); h {
		case "left", "right", "1", "2":
			at = map[string]int{"left": 0, "right": 1, "1": 0, "2": 1}[h]
		case "":
		default:
			b, err := zset.Parse(s.model.in[at], line)
			if err != nil {
				t.Fatal(err)
			}
			deltas[at].AppendBatch(b)
		}
	}
	out, err := s.g.Step(context.Background(), 0, deltas...)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	for i, d := range deltas {
		s.content[i].addBatch(d, 1)
	}
	errs := &modelErrors{map[string]int64{}}
	now := s.model.content(s.content, errs)
	if s.where != nil {
		maps.DeleteFunc(now, func(_ string, c *copies) bool { return !s.where(c.row) })
	}
	got := bag{}
	got.addBatch(out, 1)
	if want := minus(now, s.before); got.String() != want.String() {
		t.Errorf("gives\n%sby definition\n%s", got, want)
	}
	if n := errorCounts(s.g); !maps.Equal(n, errs.n) {
		t.Errorf("has the errors %v, by definition %v", n, errs.n)
	}
	s.before = now
	shown := out.Print()
	for _, e := range s.g.Errors() {
		shown += fmt.Sprintf("error (%s) %d× %s\n", e.Row, e.Count, e.Message)
	}
	return shown
}
