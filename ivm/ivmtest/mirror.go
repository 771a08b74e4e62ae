package ivmtest

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/datadriven"
)

// Mirror is an engine whose views read tables of its own, to which all is done that is done to the oracle's.
// Its views are not given changes: they find them. The seed says what else happens meanwhile.
type Mirror interface {
	Engine
	Begin(ctx context.Context, seed uint64) error
	Table(ctx context.Context, ddl string) error
	// Do does what a step's statements did, in one commit or, if whole is false, in several.
	Do(ctx context.Context, statements []string, whole bool) error
	// Happen does what a script asks to be done to stored views.
	Happen(ctx context.Context, what string) error
	End(ctx context.Context) error
}

// Expectation is what the oracle says about a view that follows by itself.
type Expectation int

// The expectations.
const (
	Rows    Expectation = iota // its query has an answer
	Refusal                    // its query fails
	Unknown                    // a view that it reads fails
)

// Finder is a view of a [Mirror].
type Finder interface {
	Maintained
	// Expect is called before each step.
	Expect(e Expectation, now int64)
	// Again makes the view's content anew.
	Again(ctx context.Context) error
}

// Skipped is what a mirror cannot have.
type Skipped struct{ Why string }

func (s *Skipped) Error() string { return s.Why }

// expect tells a view that follows by itself what will come.
func (v *View) expect(ctx context.Context) error {
	f, ok := v.main.Maintained.(Finder)
	if !ok {
		return nil
	}
	e := Rows
	if v.undefined() {
		e = Unknown
	} else {
		if err := v.tell(ctx); err != nil {
			return err
		}
		if _, err := v.world.ask(ctx, at(v.SQL, v.world.now), v.TimeZone); err != nil {
			e = Refusal
		}
	}
	f.Expect(e, v.world.now)
	return nil
}

// give has the mirror do what was done since the last commit.
func (w *World) give(ctx context.Context) error {
	m := w.lab.mirror()
	if m == nil {
		return nil
	}
	told := w.told
	w.told = nil
	if len(told) == 0 {
		return nil
	}
	return m.Do(ctx, told, slices.ContainsFunc(w.tables, func(t *table) bool { return t.event != nil }))
}

func (l *Lab) mirror() Mirror {
	m, _ := l.engine.(Mirror)
	return m
}

// unkept are cases with values that a lake cannot have, although their types are a lake's.
var unkept = map[string]string{
	"a_decimal_overflows": "DuckDB's sum has 39 digits, and files hold 38",
}

// mirrored runs a command of a script for views of a mirror. done says that it was all that is to be done.
func (s *script) mirrored(ctx context.Context, d *datadriven.TestData) (out string, done bool, err error) {
	m := s.lab.mirror()
	if m == nil {
		return "", false, nil
	}
	if why := unkept[s.name]; why != "" && s.skip == "" {
		s.skipped(d, &Skipped{why})
	}
	if s.skip != "" || len(d.CmdArgs) > 0 && s.without[d.CmdArgs[0].Key] {
		return d.Expected, true, nil
	}
	switch d.Cmd { // a view that fails shows what it had before
	case "fail":
		s.failing = 2
	case "step", "clock":
		s.failing = max(s.failing-1, 0)
	case "rows":
		if s.failing == 2 {
			return d.Expected, true, nil
		}
	case "changes":
		if s.failing > 0 {
			return d.Expected, true, nil
		}
	}
	switch d.Cmd {
	case "late", "state", "explain", "refuse":
		return d.Expected, true, nil
	case "inject":
		s.without[d.CmdArgs[0].Key] = true
		return d.Expected, true, s.world.forget(s.world.Named(d.CmdArgs[0].Key))
	case "interrupt":
		return d.Expected, true, s.world.Step(ctx, d.Input)
	case "checkpoint", "restore", "rescale", "spill":
		return "", true, m.Happen(ctx, d.Cmd)
	}
	return "", false, nil
}

// skipped takes note of what a mirror cannot have: the whole case without a table, and what needs a view without that view.
func (s *script) skipped(d *datadriven.TestData, err error) bool {
	var why *Skipped
	if !errors.As(err, &why) {
		return false
	}
	if d.Cmd == "view" {
		s.without[d.CmdArgs[0].Key] = true
	} else {
		s.skip = why.Why
	}
	s.lab.Counts.Skipped.Add(1)
	s.t.Logf("%s: case %s: %s is skipped: %s", d.Pos, s.name, d.Cmd, why.Why)
	return true
}
