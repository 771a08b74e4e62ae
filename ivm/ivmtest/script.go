package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/vegadb/vega-flight/ivm/zset"
)

// Run runs a script file. Tables and views that stand before its first case are made in each. Its commands:
//
//	case NAME [manual]           forgets everything: a new world. Each view has a copy over a store, to which checkpoints, crashes
//	                             and the like happen by themselves, or, if manual, as the script says
//	situations                   names of histories in testdata/situations, which the views before the first case go through
//	table [append] [watermark=COLUMN delay=D]
//	                             DDL of DuckDB; append: rows are never taken back; a watermark D behind the newest time
//	plain                        DDL of DuckDB of plain views and macros, which the queries of views may use
//	view NAME [zone=Z] [scale=N] [exact] [alone] [over=VIEW] [keys=(a,b)]
//	                             a query; after a line WITHIN, what the rows are chosen from
//	refuse                       a query that is refused; prints why
//	step                         DML; every view follows, and is compared
//	commit                       DML that is a commit of its own; the views are given it with the next step
//	fail                         likewise, and at least one view has an error then; prints DuckDB's
//	clock                        a time in UTC; the clock moves there
//	changes NAME                 prints what the last step emitted
//	rows NAME                    prints the view
//	explain NAME                 prints the view's plan
//	late NAME                    prints the changes that the last step dropped as late
//	state NAME                   prints how many records of state the view has
//	inject NAME TABLE            lines of rows with weights, which only the view is given; prints its error. It ends the view
//	drop NAME                    a view
//	checkpoint [fault]           of all views; fault: the disk fails, and what was written before counts
//	restore                      all views go on from their newest checkpoints, with the steps since
//	rescale N                    all views are checkpointed and go on in N shards
//	spill                        all that can be dropped from memory is
//	backfill                     all views go on as they are made anew by loading
//	interrupt [at=N]             DML; DuckDB is interrupted at the N-th call within the step, which is made again; prints in which views
func Run(t *testing.T, l *Lab, path string) {
	s := &script{t: t, lab: l, path: path}
	datadriven.RunTest(t, path, s.command)
	s.end(t)
}

type script struct {
	t       *testing.T
	lab     *Lab
	path    string
	common  []*datadriven.TestData // what stands before the first case
	world   *World
	name    string
	cases   int
	skip    string          // why the case is not run
	without map[string]bool // views that are not there
	failing int             // 2: the last step was to fail; 1: the one before it
}

func (s *script) end(t *testing.T) {
	if s.world == nil {
		return
	}
	w := s.world
	s.world = nil
	if err := w.Close(t.Context()); err != nil {
		t.Errorf("case %s: %v", s.name, err)
	}
}

// open begins a case.
func (s *script) open(ctx context.Context, name string, manual bool) (err error) {
	s.end(s.t)
	s.cases++
	s.name, s.skip, s.without = name, "", map[string]bool{}
	if s.world, err = s.lab.World(ctx); err == nil {
		s.world.Split, s.world.Manual = uint64(s.cases), manual
	}
	return err
}

func (s *script) command(t *testing.T, d *datadriven.TestData) string {
	out, err := s.run(t, d)
	if err != nil && s.lab.mirror() != nil && s.skipped(d, err) {
		return d.Expected
	}
	if err != nil {
		t.Errorf("%s: case %s: %s: %v", d.Pos, s.name, d.Cmd, err)
		if d.Cmd != "changes" && d.Cmd != "rows" {
			return d.Expected
		}
	}
	return out
}

func (s *script) run(t *testing.T, d *datadriven.TestData) (string, error) {
	ctx := t.Context()
	switch {
	case d.Cmd == "case":
		err := s.open(ctx, d.CmdArgs[0].Key, len(d.CmdArgs) > 1 && d.CmdArgs[1].Key == "manual")
		if err == nil {
			s.begin(t, "")
		}
		return "", err
	case d.Cmd == "situations":
		s.end(t)
		return "", s.situations(t, d)
	case s.world != nil:
	case d.Cmd == "table" || d.Cmd == "view":
		kept := *d
		s.common = append(s.common, &kept)
		return "", nil
	default:
		return "", errors.New("the script begins with a case")
	}
	if out, done, err := s.mirrored(ctx, d); done {
		return out, err
	}
	w := s.world
	var v *View
	switch d.Cmd {
	case "changes", "rows", "explain", "inject", "drop", "late", "state":
		if v = w.Named(d.CmdArgs[0].Key); v == nil {
			return "", fmt.Errorf("there is no view %s", d.CmdArgs[0].Key)
		}
	}
	switch d.Cmd {
	case "table":
		return "", s.table(ctx, d)
	case "plain":
		return "", w.Plain(ctx, d.Input)
	case "commit":
		return "", w.Commit(ctx, d.Input)
	case "view":
		return "", s.view(ctx, d)
	case "refuse":
		_, err := w.View(ctx, "refused", d.Input, Options{})
		var why *Refused
		if errors.As(err, &why) {
			return why.Error(), nil
		}
		return "", errors.Join(err, errors.New("the query is not refused"))
	case "step":
		if err := w.Step(ctx, d.Input); err != nil {
			return "", err
		}
		for _, v := range w.views {
			if errs := v.main.Errors(); len(errs) > 0 {
				return "", fmt.Errorf("view %s has errors: %s", v.Name, strings.Join(errs, "; "))
			}
		}
		return "", nil
	case "fail":
		return s.fail(ctx, d.Input)
	case "clock":
		at, err := time.Parse("2006-01-02 15:04:05", strings.TrimSpace(d.Input))
		if err != nil {
			return "", err
		}
		return "", w.Clock(ctx, at.UnixMicro())
	case "late":
		return late(v), nil
	case "state":
		n := 0
		for _, t := range *v.main.Maintained.(*graphView).tables {
			n += t.Keys()
		}
		return fmt.Sprintln(n), nil
	case "changes":
		return v.last.Print(), nil
	case "rows":
		return v.main.rows.Print(), nil
	case "explain":
		return v.Plan.ExplainText(), nil
	case "inject":
		return s.inject(ctx, v, d)
	case "drop":
		return "", w.forget(v)
	case "checkpoint", "restore", "rescale", "spill":
		for _, v := range w.views {
			if err := happen(ctx, v, d); err != nil {
				return "", fmt.Errorf("view %s: %w", v.Name, err)
			}
		}
		return "", nil
	case "backfill":
		for _, v := range w.views {
			if err := v.backfill(ctx); err != nil {
				return "", err
			}
		}
		return "", nil
	case "interrupt":
		n := 1
		if len(d.CmdArgs) > 0 {
			d.ScanArgs(t, "at", &n)
		}
		hit, err := w.interrupt(ctx, d.Input, n)
		return strings.Join(append(hit, ""), "\n"), err
	}
	return "", errors.New("unknown command")
}

// happen does to the copy of a view over a store what the command says.
func happen(ctx context.Context, v *View, d *datadriven.TestData) error {
	s, err := v.overStore()
	if err != nil {
		return err
	}
	switch {
	case d.Cmd == "spill":
		return s.spill()
	case d.Cmd == "restore":
		return s.reopen(ctx)
	case d.Cmd == "rescale":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			return err
		}
		return s.rescale(ctx, n)
	case len(d.CmdArgs) > 0:
		return s.failCheckpoint(ctx)
	}
	return s.checkpoint(ctx, true)
}

// late is the late changes of the last step.
func late(v *View) string {
	var out strings.Builder
	for _, l := range v.main.Maintained.(*graphView).behind {
		fmt.Fprintf(&out, "%s at %d: %d, such as %s, %s behind\n", l.Source, l.Position, l.Changes, l.Row, time.Duration(l.Behind)*time.Microsecond)
	}
	return out.String()
}

func (s *script) table(ctx context.Context, d *datadriven.TestData) error {
	column, delay, appendOnly := "", time.Duration(0), false
	for _, a := range d.CmdArgs {
		var err error
		switch a.Key {
		case "append":
			appendOnly = true
		case "watermark":
			column = a.Vals[0]
		case "delay":
			delay, err = time.ParseDuration(a.Vals[0])
		default:
			err = fmt.Errorf("unknown option %s", a.Key)
		}
		if err != nil {
			return err
		}
	}
	n := len(s.world.tables)
	if err := s.world.Table(ctx, d.Input, appendOnly); err != nil || column == "" {
		return err
	}
	for _, t := range s.world.tables[n:] {
		if err := s.world.watermark(ctx, t, column, delay); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) view(ctx context.Context, d *datadriven.TestData) error {
	var o Options
	name := d.CmdArgs[0].Key
	sql, of, chosen := strings.Cut(d.Input, "\nWITHIN\n")
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "zone":
			o.TimeZone = a.Vals[0]
		case "scale":
			var err error
			if o.Scale, err = strconv.ParseFloat(a.Vals[0], 64); err != nil {
				return err
			}
		case "exact":
			o.Exact = true
		case "alone":
			o.Alone = true
		case "over":
			o.Over = a.Vals[0]
		case "keys":
			o.Within = &Within{Of: of, Keys: strings.Join(a.Vals, ", ")}
		default:
			return fmt.Errorf("unknown option %s", a.Key)
		}
	}
	if chosen && o.Within == nil {
		return errors.New("WITHIN needs keys=(…)")
	}
	_, err := s.world.View(ctx, name, sql, o)
	return err
}

// fail steps to where a view has errors.
func (s *script) fail(ctx context.Context, dml string) (string, error) {
	if err := s.world.Step(ctx, dml); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, v := range s.world.views {
		if len(v.main.Errors()) == 0 {
			continue
		}
		_, err := s.world.ask(ctx, at(v.SQL, s.world.now), v.TimeZone)
		first, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(&out, "%s: %s\n", v.Name, first)
	}
	if out.Len() == 0 {
		return "", errors.New("no view has an error")
	}
	return out.String(), nil
}

// inject gives a view changes that no table has.
func (s *script) inject(ctx context.Context, v *View, d *datadriven.TestData) (string, error) {
	t := s.world.table(d.CmdArgs[1].Key)
	if t == nil {
		return "", fmt.Errorf("there is no table %s", d.CmdArgs[1].Key)
	}
	b, err := zset.Parse(t.rows.Layout, d.Input)
	if err != nil {
		return "", err
	}
	_, failed := v.main.advance(ctx, s.world.now, map[string]*zset.Batch{t.source.Name: b})
	if failed == nil {
		return "", errors.Join(errors.New("the view took it"), s.world.forget(v))
	}
	return failed.Error() + "\n", s.world.forget(v)
}

// forget drops a view.
func (w *World) forget(v *View) error {
	for i := range w.views {
		if w.views[i] == v {
			w.views = append(w.views[:i:i], w.views[i+1:]...)
			break
		}
	}
	return v.close()
}
