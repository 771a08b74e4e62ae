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

// Run runs a script file. Its commands:
//
//	case NAME                    forgets everything: a new world
//	table [append]               DDL of DuckDB; append: rows are never taken back
//	view NAME [zone=Z] [scale=N] [exact] [alone] [keys=(a,b)]
//	                             a query; after a line WITHIN, what the rows are chosen from
//	refuse                       a query that is refused; prints why
//	step                         DML; every view follows, and is compared
//	fail                         likewise, and at least one view has an error then; prints DuckDB's
//	clock                        a time in UTC; the clock moves there
//	changes NAME                 prints what the last step emitted
//	rows NAME                    prints the view
//	explain NAME                 prints the view's plan
//	inject NAME TABLE            lines of rows with weights, which only the view is given; prints its error. It ends the view
//	drop NAME                    a view
func Run(t *testing.T, l *Lab, path string) {
	s := &script{t: t, lab: l}
	datadriven.RunTest(t, path, s.command)
	s.end(t)
}

type script struct {
	t     *testing.T
	lab   *Lab
	world *World
	name  string
	cases int
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

func (s *script) command(t *testing.T, d *datadriven.TestData) string {
	out, err := s.run(t, d)
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
	if d.Cmd == "case" {
		s.end(t)
		s.cases++
		s.name = d.CmdArgs[0].Key
		var err error
		if s.world, err = s.lab.World(ctx); err == nil {
			s.world.Split = uint64(s.cases)
		}
		return "", err
	}
	if s.world == nil {
		return "", errors.New("the script begins with a case")
	}
	w := s.world
	var v *View
	switch d.Cmd {
	case "changes", "rows", "explain", "inject", "drop":
		if v = w.Named(d.CmdArgs[0].Key); v == nil {
			return "", fmt.Errorf("there is no view %s", d.CmdArgs[0].Key)
		}
	}
	switch d.Cmd {
	case "table":
		return "", w.Table(ctx, d.Input, len(d.CmdArgs) > 0)
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
	}
	return "", errors.New("unknown command")
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
		_, err := s.lab.oracle.read(ctx, at(v.SQL, s.world.now), v.TimeZone)
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
