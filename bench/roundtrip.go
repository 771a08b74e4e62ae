package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-adbc/go/adbc"
	adbcflight "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const smallSelect = "SELECT id, name FROM small WHERE id = 42"

// roundTrip asks for one row: through the ADBC driver, and in process.
func roundTrip(ctx context.Context, s *sides) ([]result, error) {
	if err := s.both(ctx, "CREATE TABLE small AS SELECT i AS id, 'name ' || i AS name FROM range(1000) t(i)"); err != nil {
		return nil, err
	}
	db, err := adbcflight.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{adbc.OptionKeyURI: s.flight})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	overADBC := func() error {
		st, err := conn.NewStatement()
		if err != nil {
			return err
		}
		defer st.Close()
		if err := st.SetSqlQuery(smallSelect); err != nil {
			return err
		}
		r, _, err := st.ExecuteQuery(ctx)
		if err != nil {
			return err
		}
		defer r.Release()
		var rows int64
		for r.Next() {
			rows += r.RecordBatch().NumRows()
		}
		return oneRow(rows, r.Err())
	}
	c, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	inProcess := func() error {
		rows, err := c.Rows(ctx, smallSelect)
		return oneRow(int64(len(rows)), err)
	}
	ours, theirs, err := inTurn(s.scale(2000), overADBC, inProcess)
	if err != nil {
		return nil, err
	}
	o, t := median(ours), median(theirs)
	return []result{{Name: "roundtrip/small", What: "one row by key, p50: ADBC | in process", Ours: o, Theirs: t, Unit: "ms", Figure: o - t, Bar: "<= 3 ms more", Meets: o-t <= 3}}, nil
}

func oneRow(n int64, err error) error {
	if err == nil && n != 1 {
		return errors.New(fmt.Sprint("got ", n, " rows, want one"))
	}
	return err
}
