package feed_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// step is a random step of the history: a transaction, maintenance, a change of a schema.
func (h *history) step() {
	switch p := h.r.IntN(100); {
	case p < 66:
		h.transaction()
	case p < 90:
		h.maintain()
	case h.alter:
		h.alterTable(h.tables[h.r.IntN(len(h.tables))])
	default:
		h.transaction()
	}
	head := h.head()
	for _, s := range h.tables {
		h.keep(s, head)
	}
}

// transaction changes one or more tables in one commit, now and then while another commits.
func (h *history) transaction() {
	beside := h.r.IntN(4) == 0
	left := h.tables
	if beside {
		left = left[:len(left)-1] // the last is written beside it
	}
	h.do("BEGIN")
	type done struct {
		s    *subject
		text string
	}
	var list []done
	for range 1 + h.r.IntN(3) {
		s := left[h.r.IntN(len(left))]
		name, text := h.statement(s)
		h.did[name]++
		lake, _ := s.both(text)
		if _, err := h.conn.Exec(ctx, lake); !h.ran(lake, err) {
			h.must(h.conn.Settle(ctx))
			return
		}
		list = append(list, done{s, text})
	}
	if beside {
		s := h.tables[len(h.tables)-1]
		_, text := h.statement(s)
		lake, oracle := s.both(text)
		var err error
		if h.foreign != nil && h.r.IntN(2) == 0 {
			h.did["foreign beside"]++
			err = h.foreign(lake)
		} else {
			h.did["beside"]++
			_, err = h.other.Exec(ctx, lake)
		}
		if h.ran(lake, err) {
			h.ask(oracle)
		}
		head := h.head()
		for _, s := range h.tables {
			h.keep(s, head)
		}
	}
	if _, err := h.conn.Exec(ctx, "COMMIT"); err != nil {
		// The extension refuses some transactions that overlap; they have changed nothing.
		var e *duck.Error
		if !beside || !errors.As(err, &e) {
			h.t.Fatalf("commit: %v", err)
		}
		h.did["refused"]++
		h.must(h.conn.Settle(ctx))
		return
	}
	for _, d := range list {
		_, oracle := d.s.both(d.text)
		h.ask(oracle)
	}
}

// ran says that a statement did what it should. DuckDB fails some joins with columns that were promoted since a file was written.
func (h *history) ran(sql string, err error) bool {
	h.t.Helper()
	if err != nil && !strings.Contains(err.Error(), "Can't convert TableFilterType") {
		h.t.Fatalf("%s: %v", sql, err)
	}
	return err == nil
}

func (h *history) maintain() {
	s := h.tables[h.r.IntN(len(h.tables))]
	switch p := h.r.IntN(10); {
	case p < 3:
		h.did["flush"]++
		h.do("CALL ducklake_flush_inlined_data('lake', table_name => '" + s.name + "')")
	case p < 4:
		h.did["flush all"]++
		h.do("CALL ducklake_flush_inlined_data('lake')")
	case p < 7:
		h.did["merge files"]++
		h.do("BEGIN; CALL ducklake_merge_adjacent_files('lake'); COMMIT") // by itself it may find its transaction gone
	case p < 8 && h.rewrite:
		h.did["rewrite"]++
		h.do("BEGIN; CALL ducklake_rewrite_data_files('lake', '" + s.name + "', delete_threshold => 0.1); COMMIT")
	case p < 9:
		h.did["add files"]++
		h.addFile(s)
	default:
		h.did["comment"]++
		h.do(fmt.Sprintf("COMMENT ON TABLE lake.main.%s IS 'c%d'", s.name, h.r.IntN(1000)))
	}
}

// addFile makes a file that DuckLake did not write a data file.
func (h *history) addFile(s *subject) {
	h.files++
	text := h.rows(s, 1+h.r.IntN(30))
	lake, oracle := s.both(text)
	file := filepath.Join(h.lake.DataPath(), fmt.Sprintf("added [%d] *.parquet", h.files))
	h.do("COPY (" + lake + ") TO '" + file + "' (FORMAT parquet)")
	h.do("CALL ducklake_add_data_files('lake', '" + s.name + "', '" + strings.NewReplacer("[", "[[]", "*", "[*]").Replace(file) + "')")
	_, list := s.both(s.list())
	h.ask("INSERT INTO " + s.key + " (" + list + ") " + oracle)
}

// alterTable changes a table's columns, or its name.
func (h *history) alterTable(s *subject) {
	var live []*column
	for _, c := range s.columns {
		if !c.gone && !c.fixed {
			live = append(live, c)
		}
	}
	table := "lake.main." + s.name
	switch p := h.r.IntN(10); {
	case p < 3 || len(live) == 0:
		h.did["add column"]++
		s.added++
		c := &column{key: fmt.Sprintf("n%d", s.added), typ: "BIGINT", lake: "INTEGER", fill: "i % 10"}
		c.name = fmt.Sprintf("new %d", s.added)
		if h.r.IntN(3) == 0 && s.added > 1 { // a name that another column had
			for _, o := range s.columns {
				if o.gone {
					c.name = o.name
				}
			}
		}
		for _, o := range s.columns {
			if !o.gone && o.name == c.name {
				c.name = fmt.Sprintf("new %d", s.added)
			}
		}
		switch h.r.IntN(4) {
		case 0:
			c.def = "42"
		case 1:
			c.typ, c.lake, c.def, c.fill = "VARCHAR", "VARCHAR", "'it''s'", "'x' || i"
		case 2:
			c.typ, c.lake, c.fill = "STRUCT(x BIGINT, y VARCHAR)", "STRUCT(x BIGINT, y VARCHAR)", "{'x': i, 'y': NULL}"
		}
		add := ""
		if c.def != "" {
			add = " DEFAULT " + c.def
		}
		c.name = `"` + c.name + `"`
		h.do("ALTER TABLE " + table + " ADD COLUMN " + c.name + " " + c.lake + add)
		h.ask("ALTER TABLE " + s.key + " ADD COLUMN " + c.key + " " + c.typ + add)
		c.name = strings.Trim(c.name, `"`)
		s.columns = append(s.columns, c)
		h.identify(s)
		c.name = `"` + c.name + `"`
	case p < 5:
		h.did["drop column"]++
		c := live[h.r.IntN(len(live))]
		h.do("ALTER TABLE " + table + " DROP COLUMN " + c.name)
		c.gone = true
		c.name = strings.Trim(c.name, `"`)
	case p < 7:
		h.did["rename column"]++
		c := live[h.r.IntN(len(live))]
		s.added++
		name := fmt.Sprintf("r%d", s.added)
		h.do("ALTER TABLE " + table + " RENAME COLUMN " + c.name + " TO " + name)
		c.name = name
	case p < 8:
		h.did["rename table"]++
		s.added++
		name := fmt.Sprintf("%s_r%d", s.key, s.added)
		h.do("ALTER TABLE " + table + " RENAME TO " + name)
		s.name = name
	default:
		for _, c := range s.columns {
			if !c.gone && c.lake == "INTEGER" {
				h.did["promote"]++
				h.do("ALTER TABLE " + table + " ALTER COLUMN " + c.name + " TYPE BIGINT")
				c.lake = "BIGINT"
				if c.key == "k" {
					c.fill = "i"
				} else {
					c.fill = "i + 10000000000"
				}
				return
			}
		}
	}
}
