package dataflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Money moves between accounts; what all accounts have together is 0 at every step, never in between two steps: the account
// that gives and the one that takes are computed along two ways, which meet in a join.
//
//	credits = SELECT "to", sum(amount) … GROUP BY "to",  debits likewise, balance = credits FULL JOIN debits
//	total   = SELECT sum(credit - debit) FROM balance
func TestTotalOfAllAccountsIsNeverAnythingButZero(t *testing.T) {
	moves := row.ParseLayout("BIGINT", "BIGINT", "BIGINT", "BIGINT") // id, from, to, amount
	sums := func(key int) Operator {
		op, err := NewAggregate(AggregateSpec{
			Name: fmt.Sprint("sums", key), Input: moves, Groups: []Group{{Key: key, Shown: key}},
			Functions: []Function{{Name: "sum", Args: []int{3}, Result: row.MustType("HUGEINT")}},
		}, Memory{})
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
	g := NewGraph()
	in := g.Source("moves", moves)
	credits, debits := g.Add("credits", sums(2), in), g.Add("debits", sums(1), in)
	account := row.ParseLayout("BIGINT", "HUGEINT")
	join, err := NewJoin("balance", JoinSpec{
		Kind: JoinFull, NullSafe: []bool{false},
		Left: JoinSide{account, fieldsOf(account, 0)}, Right: JoinSide{account, fieldsOf(account, 0)},
	}, Memory{})
	if err != nil {
		t.Fatal(err)
	}
	pairs := g.Add("balance", join, credits, debits)
	balance := g.Add("difference", NewMapping(&differenceProgram{join.Layout(), row.ParseLayout("BIGINT", "BIGINT")}), pairs)
	total, err := NewAggregate(AggregateSpec{
		Name: "total", Input: row.ParseLayout("BIGINT", "BIGINT"), Functions: []Function{{Name: "sum", Args: []int{1}, Result: row.MustType("HUGEINT")}},
	}, Memory{})
	if err != nil {
		t.Fatal(err)
	}
	g.Add("total", total, balance)

	rng := rand.New(rand.NewPCG(7, 7))
	live := zset.New(moves)
	content := bag{}
	for step := range 200 {
		d := zset.New(moves)
		for range rng.IntN(20) {
			r := d.AppendRow(1)
			r[1], r[2], r[3], r[4] = uint64(step*100+d.Len()), uint64(rng.IntN(10)), uint64(rng.IntN(10)), uint64(rng.IntN(100))
		}
		for range rng.IntN(10) { // some are taken back
			if n := live.Len(); n > 0 {
				i := rng.IntN(n)
				d.Append(live.Row(i), live.Heap, -1)
				live.Weights[i] = 0
				live.Consolidate()
			}
		}
		for i, w := range d.Weights {
			if w > 0 {
				live.Append(d.Row(i), d.Heap, 1)
			}
		}
		out, err := g.Step(context.Background(), 0, d)
		if err != nil {
			t.Fatal(err)
		}
		content.addBatch(out, 1)
		if len(content) != 1 {
			t.Fatalf("step %d: the total is\n%s", step, content)
		}
		for _, c := range content {
			if c.n != 1 || c.row[0] != nil && c.row[0] != int64(0) {
				t.Fatalf("step %d: the total is\n%s", step, content)
			}
		}
	}
	if content[plainText([]any{int64(0)})] == nil {
		t.Fatal("there was never a total")
	}
}

// differenceProgram gives account and credit - debit of a row of balance, a missing one being 0. The sums are small.
type differenceProgram struct{ in, out *row.Layout }

func (p *differenceProgram) Layout() *row.Layout { return p.out }

func (p *differenceProgram) Run(_ context.Context, in, out *zset.Batch, _ func(int, error)) error {
	for i, w := range in.Weights {
		r, d := in.Row(i), out.AppendRow(w)
		account := r[p.in.Off[0]]
		if p.in.IsNull(r, 0) {
			account = r[p.in.Off[2]]
		}
		p.out.Set(d, 0, account)
		p.out.Set(d, 1, r[p.in.Off[1]]-r[p.in.Off[3]])
	}
	return nil
}

// A row joined with itself by its own id always has a partner, also in the step in which it comes or goes.
func TestNoRowIsEverWithoutItself(t *testing.T) {
	g := NewGraph()
	in := g.Source("rows", sideLayout)
	join, err := NewJoin("j", JoinSpec{
		Kind: JoinLeft, NullSafe: []bool{true, true},
		Left: JoinSide{sideLayout, fieldsOf(sideLayout, 0, 1)}, Right: JoinSide{sideLayout, fieldsOf(sideLayout, 0, 1)},
	}, Memory{})
	if err != nil {
		t.Fatal(err)
	}
	g.Add("j", join, in, in)
	rng := rand.New(rand.NewPCG(8, 8))
	m := &modelCase{domain: smallRow}
	content := bag{}
	for range 100 {
		d := m.delta(rng, 0, content, sideLayout)
		content.addBatch(d, 1)
		out, err := g.Step(context.Background(), 0, d)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out.Len() {
			padded := true
			for f := 3; f < 6; f++ {
				padded = padded && out.Layout.IsNull(out.Row(i), f)
			}
			if l := plainRow(out.Layout, out.Row(i), out.Heap); padded && (l[0] != nil || l[1] != nil || l[2] != nil) {
				t.Fatalf("%v is without partner", l)
			}
		}
	}
}
