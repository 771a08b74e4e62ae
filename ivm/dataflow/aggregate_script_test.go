package dataflow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// TestGroupScripts runs testdata/{aggregate,topk,window,unnest,temporal,watermark}. A script makes an operator with a command
// named after it, whose lines are its spec, and steps it with text deltas; what it gives is the delta of the output, the
// errors there are, or why the step failed. After each step the operator is compared with one that is loaded at once.
func TestGroupScripts(t *testing.T) {
	for _, kind := range []string{"aggregate", "topk", "window", "unnest", "temporal", "watermark"} {
		datadriven.Walk(t, filepath.Join("testdata", kind), func(t *testing.T, path string) {
			s := &script{}
			datadriven.RunTest(t, path, s.run)
		})
	}
}

type script struct {
	*history
	input *row.Layout
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "step":
		var now int64
		if d.HasArg("now") {
			d.ScanArgs(t, "now", &now)
		}
		b, err := zset.Parse(s.input, d.Input)
		if err != nil {
			return "error: " + err.Error()
		}
		out, err := s.step(now, b)
		if err != nil {
			return "error: " + err.Error()
		}
		text := out.Print()
		for _, e := range s.errs.errors.list() {
			text += fmt.Sprintf("error (%s) %d× %s\n", e.Row, e.Count, e.Message)
		}
		if m, ok := s.op.(*Watermark); ok {
			if at, ok := m.At(); ok {
				text += fmt.Sprintf("watermark %d", at)
			}
			text += fmt.Sprintf(" late %d\n", m.Late())
		}
		return text
	case "content":
		return s.content.Print()
	case "due":
		var now int64
		d.ScanArgs(t, "now", &now)
		return fmt.Sprintln(s.op.(Timed).Due(now))
	}
	spec := parseSpec(t, d.Input)
	s.input = row.NewLayout(spec.input...)
	make := spec.maker(d.Cmd, s.input)
	var err error
	if s.history, err = newHistory(t, make, zset.New(s.input)); err != nil {
		return "error: " + err.Error()
	}
	s.unsure = d.Cmd == "watermark"
	return s.op.Layout().String() + "\n"
}

// spec is what the lines of a script say.
type spec struct {
	input     []row.Type
	groups    []Group
	sets      [][]int
	functions []Function
	windows   []WindowFunction
	fields    map[string][]int
	numbers   map[string]int64
	bounds    []Bound
}

func parseSpec(t *testing.T, text string) *spec {
	s := &spec{fields: map[string][]int{}, numbers: map[string]int64{}}
	for _, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "":
		case "input":
			for _, name := range strings.Split(rest, "; ") {
				s.input = append(s.input, row.MustType(name))
			}
		case "groups": // key or key/shown
			for _, g := range strings.Fields(rest) {
				key, shown, ok := strings.Cut(g, "/")
				k := atoi(t, key)
				x := Group{k, k}
				if ok {
					x.Shown = atoi(t, shown)
				}
				s.groups = append(s.groups, x)
			}
		case "sets": // (0 1) (0) ()
			for _, set := range strings.Split(strings.Trim(rest, "()"), ")(") {
				s.sets = append(s.sets, append([]int{}, ints(t, set)...))
			}
		case "f": // name(args) options -> type
			f, w := parseFunction(t, rest)
			s.functions, s.windows = append(s.functions, f), append(s.windows, w)
		case "bound": // field < offset
			p := strings.Fields(rest)
			offset := int64(atoi(t, p[2]))
			s.bounds = append(s.bounds, Bound{Field: atoi(t, p[0]), Below: p[1][0] == '<', OrEqual: len(p[1]) > 1, Monotone: len(p) == 3,
				At: func(now int64) (uint64, bool, error) {
					if now%100 == 99 {
						return 0, false, nil
					}
					if len(p) > 3 && now%2 == 1 { // goes back
						return uint64(now + offset - 5), true, nil
					}
					return uint64(now + offset), true, nil
				}})
		case "limit", "offset", "ties", "number", "time", "position", "delay", "end", "ordinality":
			s.numbers[word] = int64(atoi(t, rest))
		default:
			s.fields[word] = ints(t, rest)
		}
	}
	return s
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ints(t *testing.T, s string) (out []int) {
	for _, x := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		out = append(out, atoi(t, x))
	}
	return out
}

func parseFunction(t *testing.T, s string) (Function, WindowFunction) {
	call, result, _ := strings.Cut(s, " -> ")
	parts := strings.Fields(call)
	name, args, _ := strings.Cut(strings.TrimSuffix(parts[0], ")"), "(")
	f := Function{Name: name, Args: ints(t, args), Result: row.MustType(result)}
	w := WindowFunction{Name: name, Args: f.Args, Offset: 1, Result: f.Result}
	for _, o := range parts[1:] {
		key, v, _ := strings.Cut(o, "=")
		switch key {
		case "distinct":
			f.Distinct = true
		case "filter":
			f.Filters = ints(t, v)
		case "order":
			f.Order = ints(t, v)
		case "sort":
			f.Sort = ints(t, v)
		case "identity":
			f.Identity = ints(t, v)
		case "sep":
			f.Separator = v
		case "q":
			f.Quantile.Value, _ = strconv.ParseFloat(v, 64)
		case "offset":
			w.Offset = int64(atoi(t, v))
		case "default":
			w.Default = 1 + atoi(t, v)
		case "evaluated":
			w.Evaluated = true
		}
	}
	return f, w
}

func (s *spec) maker(kind string, input *row.Layout) func(Tables) (Operator, error) {
	return func(tables Tables) (Operator, error) {
		switch kind {
		case "aggregate":
			return NewAggregate(AggregateSpec{Name: "a", Input: input, Groups: s.groups, Sets: s.sets, Functions: s.functions,
				Evaluator: &lastOfGroup{layout: row.NewLayout(s.results()...)}, Kept: s.fields["kept"]}, tables)
		case "topk":
			limit, ok := s.numbers["limit"]
			if !ok {
				limit = -1
			}
			return NewTopK(TopKSpec{Name: "t", Input: input, Partition: s.fields["partition"], Order: s.fields["order"], Row: s.fields["row"],
				Limit: limit, Offset: s.numbers["offset"], Ties: s.numbers["ties"] == 1, Number: s.numbers["number"] == 1}, tables)
		case "window":
			var results []row.Type
			for _, w := range s.windows {
				if w.Evaluated {
					results = append(results, w.Result)
				}
			}
			return NewWindow(WindowSpec{Name: "w", Input: input, Partition: s.fields["partition"], Order: s.fields["order"], Row: s.fields["row"],
				Functions: s.windows, Evaluator: &runningSum{layout: row.NewLayout(results...)}, Kept: s.fields["kept"]}, tables)
		case "unnest":
			return NewUnnest(UnnestSpec{Input: input, Row: s.fields["row"], Lists: s.fields["lists"], Ordinality: s.numbers["ordinality"] == 1})
		case "temporal":
			return NewTemporal(TemporalSpec{Name: "t", Input: input, Bounds: s.bounds, Row: s.fields["row"]}, tables)
		case "watermark":
			m, err := NewWatermark(WatermarkSpec{Name: "m", Input: input, Time: int(s.numbers["time"]), Position: int(s.numbers["position"]),
				Delay: s.numbers["delay"], Row: s.fields["row"]}, tables)
			if err != nil {
				return nil, err
			}
			return m, nil
		}
		return nil, fmt.Errorf("no operator %s", kind)
	}
}

// results are the types of the functions that are the evaluator's.
func (s *spec) results() (out []row.Type) {
	l := row.NewLayout(s.input...)
	for _, f := range s.functions {
		if !NativeFunction(f, l) {
			out = append(out, f.Result)
		}
	}
	return out
}

// lastOfGroup is an evaluator that gives, for each function, the sum of the first kept field (BIGINT) over the copies of a
// group's rows; a sum of 13 has no value.
type lastOfGroup struct{ layout *row.Layout }

func (g *lastOfGroup) Layout() *row.Layout { return g.layout }

func (g *lastOfGroup) Evaluate(_ context.Context, rows *zset.Batch, groups []int32, n int, out *zset.Batch, bad func(int, error)) error {
	sums := make([]int64, n)
	for i, w := range rows.Weights {
		sums[groups[i]] += w * int64(rows.Row(i)[rows.Layout.Off[0]])
	}
	for i, sum := range sums {
		r := out.AppendRow(1)
		for j := range g.layout.Types {
			g.layout.Set(r, j, uint64(sum))
		}
		if sum == 13 {
			bad(i, errors.New("unlucky"))
		}
	}
	return nil
}

// runningSum is an evaluator of windows: the sum of the first kept field (BIGINT) of the partition's rows so far.
type runningSum struct{ layout *row.Layout }

func (g *runningSum) Layout() *row.Layout { return g.layout }

func (g *runningSum) Evaluate(_ context.Context, rows *zset.Batch, groups []int32, n int, out *zset.Batch, bad func(int, error)) error {
	var sum int64
	for i := range rows.Weights {
		if i > 0 && groups[i] != groups[i-1] {
			sum = 0
		}
		sum += int64(rows.Row(i)[rows.Layout.Off[0]])
		r := out.AppendRow(1)
		for j := range g.layout.Types {
			g.layout.Set(r, j, uint64(sum))
		}
		if sum == 13 {
			bad(int(groups[i]), errors.New("unlucky"))
		}
	}
	return nil
}
