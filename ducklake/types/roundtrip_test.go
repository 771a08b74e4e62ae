package types_test

import (
	"os"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/types"
)

func TestMain(m *testing.M) { os.Exit(laketest.Main(m)) }

// Each decision is what a lake really does with the type's values: kept
// unchanged by a lake of either catalog, or mapped because the type itself is
// not and the other one is, or refused because values are lost.
func TestEveryTypeRoundTrips(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		postgres := kind == laketest.PostgreSQL
		l := newLab(t, kind)
		for _, s := range samples {
			t.Run(s.typ, func(t *testing.T) {
				mapped, verdict := types.Lake(s.typ)
				own := l.observe(s.typ, s.values, types.Inlined(s.typ, postgres))
				if own.kept() != (verdict == types.Keep) {
					t.Errorf("the decision is to %v it; seen: %+v", verdict, own)
				}
				if verdict == types.Map {
					if other := l.observe(mapped, s.values, types.Inlined(mapped, postgres)); !other.kept() {
						t.Errorf("as %s: %+v", mapped, other)
					}
				}
			})
		}
	})
}

// A value that the stand-in does not have is an error of the cast, never another value.
func TestOverflowIsAnError(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	for _, v := range []string{"100000000000000000000000000000000000000::HUGEINT", "-170141183460469231731687303715884105728::HUGEINT", "340282366920938463463374607431768211455::UHUGEINT"} {
		mapped, _ := types.Lake(v[strings.Index(v, "::")+2:])
		if err := l.try("SELECT CAST(" + v + " AS " + mapped + ")"); err == nil {
			t.Errorf("%s fits %s", v, mapped)
		}
	}
}

// These show that the extension still has the faults that rules of ours work
// around. When one fails, the rule can go.

// DuckLake compares a filter's value, written as a decimal number, with the
// text of each file's least and greatest FLOAT or DOUBLE, and rounds the two
// differently: files with matching rows are skipped. Without these statistics no file is.
func TestFloatStatisticsSkipFiles(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.must("CREATE TABLE lake.f (k INTEGER, x DOUBLE); CREATE TEMP TABLE want (k INTEGER, x DOUBLE)")
	l.inline("lake.f", false)
	for _, table := range []string{"lake.f", "want"} {
		l.must("INSERT INTO " + table + " VALUES (1, '-0.11049315628702099')")
	}
	values := []string{"'-0.11049315628702099'"}
	if err := l.sameFiltered("lake.f", "DOUBLE", values, "="); err == nil {
		t.Error("the file is found by its statistics")
	}
	l.forgetFloatStatistics()
	if err := l.sameFiltered("lake.f", "DOUBLE", values, "="); err != nil {
		t.Error(err)
	}
}

// A DuckDB catalog gets inlined numbers as decimal literals, and rounds them on the way.
func TestInlinedFloatsChange(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	for _, s := range []sample{{"DOUBLE", []string{"'-0.11049315628702099'"}}, {"DOUBLE[]", []string{"['-0.11049315628702099'::DOUBLE]"}}} {
		if o := l.observe(s.typ, s.values, true); len(o.wrong) == 0 || !strings.HasPrefix(o.wrong[0], "inlined: ") {
			t.Errorf("%s: %+v", s.typ, o)
		}
		if o := l.observe(s.typ, s.values, false); !o.kept() {
			t.Errorf("%s: %+v", s.typ, o)
		}
	}
}

// A row that cannot be flushed stops the flush of all tables, for ever.
func TestOneRowStopsTheFlush(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.must("CREATE TABLE lake.bad (x INTERVAL); CREATE TABLE lake.good (x INTEGER)")
	l.inline("lake.bad", true)
	l.inline("lake.good", true)
	l.must("INSERT INTO lake.bad VALUES (INTERVAL '-1 day'); INSERT INTO lake.good VALUES (1)")
	if err := l.try("CALL ducklake_flush_inlined_data('lake')"); err == nil {
		t.Error("it was flushed")
	}
}

// A PostgreSQL catalog keeps inlined nested values as text.
func TestPostgresInlinesNestedValuesAsText(t *testing.T) {
	l := newLab(t, laketest.PostgreSQL)
	o := l.observe("STRUCT(a VARCHAR)", []string{"{'a': 'it''s'}"}, true)
	if len(o.wrong) == 0 || !strings.HasPrefix(o.wrong[0], "inlined: ") {
		t.Errorf("%+v", o)
	}
	o = l.observe("JSON[]", []string{`['{"a": 1}'::JSON]`}, true)
	if l.deaths == 0 {
		t.Errorf("the instance lives; %+v", o)
	}
}

// A TIME_NS column ends the instance when it is flushed.
func TestFlushOfNanosecondTimesEndsTheInstance(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	if o := l.observe("TIME_NS", []string{"'12:00:00'::TIME_NS"}, true); l.deaths == 0 {
		t.Errorf("the instance lives; %+v", o)
	}
}
