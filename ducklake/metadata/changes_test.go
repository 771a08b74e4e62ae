package metadata

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseChanges(t *testing.T) {
	for text, want := range map[string][]Change{
		``:                                   nil,
		`created_schema:"main"`:              {{Kind: CreatedSchema, Schema: "main"}},
		`inlined_insert:2,inlined_delete:17`: {{Kind: InlinedInsert, ID: 2}, {Kind: InlinedDelete, ID: 17}},
		`dropped_table:3,created_table:"main"."hid2",inlined_insert:4`: {
			{Kind: DroppedTable, ID: 3}, {Kind: CreatedTable, Schema: "main", Name: "hid2"}, {Kind: InlinedInsert, ID: 4}},
		`created_table:"we,ird ""q"" s"."t,'1:2"`: {{Kind: CreatedTable, Schema: `we,ird "q" s`, Name: `t,'1:2`}},
		`created_view:"s"."""",altered_view:5`:    {{Kind: CreatedView, Schema: "s", Name: `"`}, {Kind: AlteredView, ID: 5}},
		`created_table:""."a.b"`:                  {{Kind: CreatedTable, Name: "a.b"}},
		`something_new:12`:                        {{Kind: "something_new", ID: 12}},
	} {
		got, err := ParseChanges(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`x`, `:1`, `inlined_insert:`, `inlined_insert:1 `, `created_table:"a`, `created_table:"a".`, `created_table:"a".b`,
		`inlined_insert:99999999999999999999`, `inlined_insert:1;`, `inlined_insert:-1`} {
		if got, err := ParseChanges(text); err == nil {
			t.Errorf("%s is accepted as %+v", text, got)
		}
	}
}

func FuzzParseChanges(f *testing.F) {
	for _, seed := range []string{`created_schema:"main"`, `created_table:"we,ird ""q"" s"."t,'1",inlined_insert:4`, `inline_flush:2,deleted_from_table:2`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := ParseChanges(text)
		if err != nil {
			return
		}
		// What was understood says the same when it is written again.
		var parts []string
		for _, c := range changes {
			switch {
			case c.Schema == "" && c.Name == "":
				return // an id, whose zeros are not kept, or an empty name
			case c.Name == "":
				parts = append(parts, string(c.Kind)+":"+QuoteIdent(c.Schema))
			default:
				parts = append(parts, string(c.Kind)+":"+QuoteIdent(c.Schema)+"."+QuoteIdent(c.Name))
			}
		}
		again, err := ParseChanges(strings.Join(parts, ","))
		if err != nil || !reflect.DeepEqual(again, changes) {
			t.Errorf("%q: %+v, and again %+v, %v", text, changes, again, err)
		}
	})
}

func TestClass(t *testing.T) {
	for text, want := range map[string]Class{
		`inlined_insert:2`:                                 Untouched,
		`created_table:"main"."1"`:                         Untouched,
		`inlined_insert:1`:                                 Written,
		`inserted_into_table:1`:                            Written,
		`deleted_from_table:1`:                             Written,
		`deleted_from_table:1,inline_flush:1`:              Relocated, // a flush that wrote delete files
		`inline_flush:1`:                                   Relocated,
		`inline_flush:1,inserted_into_table:1`:             Written,
		`inline_flush:2,deleted_from_table:1`:              Written,
		`merge_adjacent:1`:                                 Relocated,
		`rewrite_delete:1`:                                 Rewritten,
		`altered_table:1,inlined_insert:1`:                 Altered,
		`inlined_delete:1,dropped_table:1`:                 Dropped,
		`dropped_view:1`:                                   Untouched,
		`inserted_into_table:1,deleted_from_table:1`:       Written,
		`merge_adjacent:2,merge_adjacent:1`:                Relocated,
		`dropped_table:10,dropped_table:11,dropped_table:`: Untouched,
	} {
		changes, err := ParseChanges(strings.TrimSuffix(text, ",dropped_table:"))
		if err != nil {
			t.Fatal(err)
		}
		if got := (SnapshotChanges{Changes: changes}).Class(1); got != want {
			t.Errorf("%s: class %d, want %d", text, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT 1`:                          `SELECT 1`,
		`FROM {M}a JOIN {M}b`:               `FROM "s".a JOIN "s".b`,
		`SELECT '{M}', "{M}", {M}x`:         `SELECT '{M}', "{M}", "s".x`,
		`SELECT 'it''s {M}' FROM {M}x`:      `SELECT 'it''s {M}' FROM "s".x`,
		`SELECT """{M}" FROM {M}x`:          `SELECT """{M}" FROM "s".x`,
		`SELECT '{M}`:                       `SELECT '{M}`,
		`{M}{M}{M`:                          `"s"."s".{M`,
		`INSERT INTO {M}t VALUES ('ä{M}ß')`: `INSERT INTO "s".t VALUES ('ä{M}ß')`,
	} {
		if got := expand(sql, `"s".`); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestCommitInfo(t *testing.T) {
	info := CommitInfo{ID: "a-b", Kind: CommitPublish, Server: `odd "server"`}
	if got, ok := ParseCommitInfo(info.ExtraInfo()); !ok || !reflect.DeepEqual(got, info) {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, text := range []string{``, `x`, `{"commit":"a"}`, `{"vega_commit":""}`, `{"vega_commit":1}`, `{"vega_commit":"a"`} {
		if got, ok := ParseCommitInfo(text); ok {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

func TestSplitAliases(t *testing.T) {
	for text, want := range map[string][]string{
		``: nil, `"a"`: {"a"}, `"a","b,""c"`: {"a", `b,"c`}, `a, b`: {"a", "b"}, `"a`: nil,
	} {
		if got := splitAliases(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
