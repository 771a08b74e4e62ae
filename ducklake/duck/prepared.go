package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// keptText bounds the text of a statement that is kept, in bytes: longer ones carry their rows as literals and do not come again.
const keptText = 4096

// preparedSet are the statements of a connection that stay prepared, because a connection that runs the same few texts again and
// again spends most of its time on planning them (0.3-0.5 ms a statement, against 0.1 ms to run one). DuckDB plans one
// anew by itself when the catalog or the type of a parameter has changed. The zero value keeps nothing.
type preparedSet struct {
	limit int
	once  map[string]struct{} // texts that were run once: what is never run again is not worth a place
	stmts map[string]*Stmt
	order []string // the oldest first
}

// Keep makes Exec and Rows keep up to limit statements prepared: single SELECT, INSERT, UPDATE and DELETE statements,
// from the second time on that their text comes. Call it before the connection is used.
//
// It is refused on an instance that plans by statistics: DuckDB takes what a table's statistics say at the time of
// planning for what holds at every run, so that a plan made over an empty table answers "no rows" for ever.
func (c *Conn) Keep(ctx context.Context, limit int) error {
	rows, err := c.Rows(ctx, "SELECT current_setting('disabled_optimizers')")
	if err != nil {
		return err
	}
	off, _ := rows[0][0].(string)
	if !slices.Contains(strings.Split(off, ","), "statistics_propagation") {
		return fmt.Errorf("duck: statements cannot be kept prepared while the optimizer statistics_propagation is on")
	}
	c.kept = preparedSet{limit: limit, once: map[string]struct{}{}, stmts: map[string]*Stmt{}}
	return nil
}

// statement is the last statement of the text, prepared, after those before it were run; nil when there is none. done must
// be called once it has run.
func (c *Conn) statement(sql string) (s *Stmt, done func(error), err error) {
	if s := c.kept.stmts[sql]; s != nil {
		return s, func(err error) {
			if err != nil { // whatever it was, the next try starts afresh
				c.kept.forget(sql)
			}
		}, nil
	}
	s, err = c.runAllButLast(sql)
	if err != nil || s == nil {
		return nil, nil, err
	}
	return s, func(err error) {
		if err != nil || s.sql == "" || !c.kept.take(sql, s) {
			s.destroy()
		}
	}, nil
}

// take keeps a statement, and says so.
func (k *preparedSet) take(sql string, s *Stmt) bool {
	if k.limit == 0 || len(sql) > keptText {
		return false
	}
	if _, again := k.once[sql]; !again {
		if len(k.once) >= 4*k.limit {
			clear(k.once)
		}
		k.once[sql] = struct{}{}
		return false
	}
	switch s.Kind() {
	case KindSelect, KindInsert, KindUpdate, KindDelete:
	default:
		return false
	}
	if len(k.order) >= k.limit {
		k.forget(k.order[0])
	}
	k.stmts[sql] = s
	k.order = append(k.order, sql)
	return true
}

func (k *preparedSet) forget(sql string) {
	s := k.stmts[sql]
	if s == nil {
		return
	}
	s.destroy()
	delete(k.stmts, sql)
	for i, o := range k.order {
		if o == sql {
			k.order = append(k.order[:i], k.order[i+1:]...)
			break
		}
	}
}

func (k *preparedSet) clear() {
	for len(k.order) > 0 {
		k.forget(k.order[0])
	}
}
