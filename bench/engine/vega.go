package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// vegaSide is the engine: the workload's SQL, planned and built as a streaming view's would be, stepped once a batch.
type vegaSide struct {
	w      *workload
	eval   *evaluator.Instance
	graph  *dataflow.Graph
	steps  [][]*zset.Batch // of each step: the inputs' changes
	size   []int
	first  int // rows of the first content
	output []*zset.Batch
	last   *zset.Batch // the graph's output of the last step
}

const pieceRows = 1 << 16

func newVegaSide(ctx context.Context, o sideOptions) (_ side, err error) {
	s := &vegaSide{w: o.workload, last: zset.New(row.NewLayout())}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	p, err := planOf(ctx, o.workload)
	if err != nil {
		return nil, err
	}
	if o.plan {
		fmt.Fprint(os.Stdout, p.ExplainText())
	}
	if s.eval, err = evaluator.Open(ctx, evaluator.Config{}); err != nil {
		return nil, err
	}
	var inputs []dataflow.Input
	if s.graph, inputs, err = dataflow.Build(ctx, p, dataflow.BuildOptions{Evaluator: s.eval, Groups: s.eval, Parallelism: o.workers}); err != nil {
		return nil, err
	}
	if o.plan {
		return s, nil
	}
	if o.workload.nexmark() {
		return s, s.readEvents(ctx, o.data, inputs)
	}
	f, err := readFeed(o.data, o.workload.folder, o.rounds)
	if err != nil {
		return nil, err
	}
	s.take(0, f.content, inputs)
	for _, b := range f.batches {
		s.take(b.size, b.records, inputs)
	}
	s.first = len(f.content)
	return s, nil
}

func planOf(ctx context.Context, w *workload) (_ *plan.Plan, err error) {
	planner, err := bind.NewPlanner(ctx, "lake")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, planner.Close()) }()
	q := bind.Query{SQL: w.view}
	for _, t := range w.tables {
		s := &plan.Source{Catalog: "lake", Schema: "main", Name: t.name}
		for i, c := range t.columns {
			s.Columns = append(s.Columns, plan.TableColumn{ID: int64(i + 1), Name: c.name, Type: row.MustType(c.typ)})
		}
		q.Sources = append(q.Sources, s)
	}
	return planner.Plan(ctx, q)
}

// take makes the batches of one step.
func (s *vegaSide) take(size int, records []record, inputs []dataflow.Input) {
	var step []*zset.Batch
	for _, in := range inputs {
		t := s.table(in.Source.Name)
		b := zset.New(in.Layout())
		fields := make([]byte, len(in.Fields))
		for i, f := range in.Fields {
			for _, c := range t.columns {
				if c.name == f.Name {
					fields[i] = c.of
				}
			}
		}
		for _, r := range records {
			if r.tag != t.tag {
				continue
			}
			words := b.AppendRow(int64(r.w))
			for i, f := range fields {
				v := r.a
				switch f {
				case 'b':
					v = r.b
				case 'c':
					v = r.c
				}
				b.Layout.Set(words, i, uint64(v))
			}
		}
		step = append(step, b)
	}
	s.steps, s.size = append(s.steps, step), append(s.size, size)
}

func (s *vegaSide) table(name string) table {
	for _, t := range s.w.tables {
		if t.name == name {
			return t
		}
	}
	return table{}
}

// readEvents makes batches of 10,000 events. Streams and columns that the query does not read are left away.
func (s *vegaSide) readEvents(ctx context.Context, data string, inputs []dataflow.Input) error {
	e, err := openEvents(ctx, data)
	if err != nil {
		return err
	}
	defer e.close()
	whole := make([]*zset.Batch, len(inputs))
	at := make([]int, len(inputs))
	counts := make([][]int, len(inputs))
	for i, in := range inputs {
		names := make([]string, len(in.Fields))
		for j, f := range in.Fields {
			names[j] = f.Name
		}
		if whole[i], err = e.read(ctx, in.Source.Name, names, in.Layout()); err != nil {
			return err
		}
		if counts[i], err = e.counts(ctx, in.Source.Name); err != nil {
			return err
		}
	}
	for n := range (e.n + eventBatch - 1) / eventBatch {
		var step []*zset.Batch
		for i, b := range whole {
			from, to := at[i], at[i]+counts[i][n]
			at[i] = to
			step = append(step, &zset.Batch{Layout: b.Layout, Heap: b.Heap, Weights: b.Weights[from:to], Words: b.Words[from*b.Layout.Words : to*b.Layout.Words]})
		}
		s.steps, s.size = append(s.steps, step), append(s.size, eventBatch)
	}
	s.first = e.n
	return nil
}

func (s *vegaSide) sizes() []int { return s.size }
func (s *vegaSide) rows() int    { return s.first }

func (s *vegaSide) memory() float64 {
	n := 0
	for _, b := range append(s.output[:len(s.output):len(s.output)], s.last) {
		n += 8*(cap(b.Words)+cap(b.Weights)) + b.Heap.Held()
	}
	return liveMB() - float64(n)/(1<<20)
}

func (s *vegaSide) step(ctx context.Context, i int) error {
	out, err := s.epoch(ctx, i)
	if err != nil {
		return err
	}
	s.last = out
	for out.Len() > 0 {
		n := len(s.output)
		if n == 0 || s.output[n-1].Len()+min(out.Len(), pieceRows) > pieceRows {
			b := zset.New(out.Layout)
			b.Words, b.Weights = make([]uint64, 0, pieceRows*out.Layout.Words), make([]int64, 0, pieceRows)
			s.output = append(s.output, b)
			n++
		}
		part := *out
		k := min(out.Len(), pieceRows)
		part.Words, part.Weights = out.Words[:k*out.Layout.Words], out.Weights[:k]
		s.output[n-1].AppendBatch(&part)
		if k == out.Len() {
			break
		}
		part.Words, part.Weights = out.Words[k*out.Layout.Words:], out.Weights[k:]
		out = &part
	}
	return nil
}

// epoch makes the state of the first content, or takes a batch in.
func (s *vegaSide) epoch(ctx context.Context, i int) (*zset.Batch, error) {
	if s.size[i] > 0 {
		return s.graph.Step(ctx, 0, s.steps[i]...)
	}
	return s.graph.Load(ctx, 0, func(source int, take func(*zset.Batch) error) error {
		b := s.steps[i][source]
		w := b.Layout.Words
		for from := 0; from < b.Len(); from += pieceRows {
			to := min(from+pieceRows, b.Len())
			if err := take(&zset.Batch{Layout: b.Layout, Heap: b.Heap, Words: b.Words[from*w : to*w], Weights: b.Weights[from:to]}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *vegaSide) write(w *bufio.Writer) error {
	if errs := s.graph.Errors(); len(errs) > 0 {
		return fmt.Errorf("%d rows have no value: %v", len(errs), errs[0])
	}
	var line []byte
	for _, b := range s.output {
		for i, weight := range b.Weights {
			line = strconv.AppendInt(line[:0], weight, 10)
			r := b.Row(i)
			for f, t := range b.Layout.Types {
				line = append(line, ',')
				line = appendCell(line, b, r, f, t)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendCell(line []byte, b *zset.Batch, r []uint64, f int, t row.Type) []byte {
	if b.Layout.IsNull(r, f) {
		return line
	}
	at := b.Layout.Off[f]
	switch t.Kind {
	case row.Varchar:
		text := string(b.Layout.Bytes(r, f, b.Heap, nil))
		return append(append(append(line, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
	case row.Int128:
		if hi := int64(r[at+1]); hi == int64(r[at])>>63 {
			return strconv.AppendInt(line, int64(r[at]), 10)
		}
		x := new(big.Int).Lsh(big.NewInt(int64(r[at+1])), 64)
		return x.Add(x, new(big.Int).SetUint64(r[at])).Append(line, 10)
	}
	return strconv.AppendInt(line, int64(r[at]), 10)
}

func (s *vegaSide) close() error {
	var errs []error
	if s.graph != nil {
		errs = append(errs, s.graph.Close())
	}
	if s.eval != nil {
		errs = append(errs, s.eval.Close())
	}
	return errors.Join(errs...)
}
