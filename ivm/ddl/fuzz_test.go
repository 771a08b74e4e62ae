package ddl

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

// checkParse asserts what holds for every text.
func checkParse(t *testing.T, sql string) {
	items, err := Parse(sql)
	if err != nil {
		var e *fault.Error
		if !errors.As(err, &e) || e.Position < 0 || e.Position > len(sql) {
			t.Fatalf("error %v without a place in %q", err, sql)
		}
		return
	}
	end := 0
	for _, item := range items {
		if item.Offset < end || item.Text == "" || sql[item.Offset:item.Offset+len(item.Text)] != item.Text {
			t.Fatalf("item %+v is not a piece of %q after %d", item, sql, end)
		}
		end = item.Offset + len(item.Text)
		alone, err := Parse(item.Text)
		if err != nil || len(alone) != 1 || (alone[0].Stmt == nil) != (item.Stmt == nil) {
			t.Fatalf("%q alone gives %v, %v", item.Text, alone, err)
		}
		if item.Stmt == nil {
			continue
		}
		printed := item.Stmt.String()
		again, err := Parse(printed)
		if err != nil || len(again) != 1 || again[0].Stmt == nil {
			t.Fatalf("%q printed as %q gives %v, %v", item.Text, printed, again, err)
		}
		want, got := withoutOffsets(item.Stmt), withoutOffsets(again[0].Stmt)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%q printed as %q gives\n%#v\nnot\n%#v", item.Text, printed, got, want)
		}
	}
}

// withoutOffsets copies a statement with every field called …Offset, and the options' Offset, zeroed.
func withoutOffsets(s Statement) any {
	v := reflect.New(reflect.TypeOf(s).Elem()).Elem()
	v.Set(reflect.ValueOf(s).Elem())
	for i := range v.NumField() {
		f := v.Field(i)
		if strings.HasSuffix(v.Type().Field(i).Name, "Offset") {
			f.SetZero()
		}
		if o, ok := f.Interface().(Options); ok && o != nil {
			o = append(Options{}, o...)
			for j := range o {
				o[j].Offset = 0
			}
			f.Set(reflect.ValueOf(o))
		}
	}
	return v.Interface()
}

// seeds are the texts of the scripts.
func seeds(tb testing.TB) []string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatal("no scripts", err)
	}
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "parse\n")[1:] {
			input, _, _ := strings.Cut(block, "----\n")
			out = append(out, input)
		}
	}
	return out
}

func TestScriptsHoldTheInvariants(t *testing.T) {
	for _, s := range seeds(t) {
		checkParse(t, s)
		for i := range s { // also every prefix
			checkParse(t, s[:i])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(checkParse)
}
