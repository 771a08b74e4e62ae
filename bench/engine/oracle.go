package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// oracle is DuckDB with the sources as they are after the last batch, and the result that each view then has.
type oracle struct {
	data   string
	rounds int
	open   map[string]*oracleData // by folder
}

type oracleData struct {
	db    *duck.DB
	conn  *duck.Conn
	event *eventTables
	made  map[string]int64 // of views that have been computed: the keys of their state
}

func newOracle(data string, rounds int) *oracle {
	return &oracle{data: data, rounds: rounds, open: map[string]*oracleData{}}
}

func (o *oracle) of(ctx context.Context, w *workload) (_ *oracleData, err error) {
	if d := o.open[w.folder]; d != nil {
		return d, nil
	}
	d := &oracleData{made: map[string]int64{}}
	if w.nexmark() {
		if d.event, err = openEvents(ctx, o.data); err != nil {
			return nil, err
		}
		d.conn = d.event.conn
		o.open[w.folder] = d
		return d, nil
	}
	o.open[w.folder] = d
	if d.db, err = duck.Open("", duck.Options{}); err != nil {
		return nil, err
	}
	if d.conn, err = d.db.Connect(); err != nil {
		return nil, err
	}
	f, err := readFeed(o.data, w.folder, o.rounds)
	if err != nil {
		return nil, err
	}
	all := f.content
	for _, b := range f.batches {
		all = append(all, b.records...)
	}
	if err := createRecords(ctx, d.conn, "record", all); err != nil {
		return nil, err
	}
	for _, t := range w.tables {
		_, err := d.conn.Exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM record WHERE tag = %d GROUP BY a, b, c HAVING sum(w) > 0", t.name, t.fields(), t.tag))
		if err != nil {
			return nil, err
		}
	}
	_, err = d.conn.Exec(ctx, "DROP TABLE record")
	return d, err
}

// fields are a table's columns out of records.
func (t table) fields() string {
	var out []string
	for _, c := range t.columns {
		out = append(out, fmt.Sprintf("%c AS %s", c.of, c.name))
	}
	return strings.Join(out, ", ")
}

// createRecords makes a table of records.
func createRecords(ctx context.Context, c *duck.Conn, name string, all []record) (err error) {
	if _, err := c.Exec(ctx, "CREATE TABLE "+name+" (tag INTEGER, w INTEGER, a BIGINT, b BIGINT, c BIGINT)"); err != nil {
		return err
	}
	return insertRecords(ctx, c, "INSERT INTO "+name+" FROM given", all)
}

// insertRecords runs a statement that reads records by the name given.
func insertRecords(ctx context.Context, c *duck.Conn, sql string, all []record) (err error) {
	r, err := recordReader(all)
	if err != nil {
		return err
	}
	defer r.Release()
	release, err := c.RegisterArrow("given", r)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, release())
}

func recordReader(all []record) (array.RecordReader, error) {
	i32, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	schema := arrow.NewSchema([]arrow.Field{{Name: "tag", Type: i32}, {Name: "w", Type: i32}, {Name: "a", Type: i64}, {Name: "b", Type: i64}, {Name: "c", Type: i64}}, nil)
	var batches []arrow.RecordBatch
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for len(all) > 0 {
		part := all[:min(len(all), 1<<16)]
		all = all[len(part):]
		for _, r := range part {
			build.Field(0).(*array.Int32Builder).Append(r.tag)
			build.Field(1).(*array.Int32Builder).Append(r.w)
			build.Field(2).(*array.Int64Builder).Append(r.a)
			build.Field(3).(*array.Int64Builder).Append(r.b)
			build.Field(4).(*array.Int64Builder).Append(r.c)
		}
		batches = append(batches, build.NewRecordBatch())
	}
	return array.NewRecordReader(schema, batches)
}

// verdict is how a result compares with DuckDB's.
type verdict struct {
	rows, missing, surplus, negative int64
	keys                             int64 // of the state
}

func (v verdict) equal() bool { return v.missing == 0 && v.surplus == 0 && v.negative == 0 }

func (v verdict) String() string {
	return fmt.Sprintf("%d rows expected, %d missing, %d too many, %d with a negative weight", v.rows, v.missing, v.surplus, v.negative)
}

// verify compares what a system wrote into dir/out.
func (o *oracle) verify(ctx context.Context, w *workload, dir string) (v verdict, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "out", "*_"+w.name+"_r*.csv"))
	if err != nil || len(files) == 0 { // Nexmark of others has no rounds in the name
		files, err = filepath.Glob(filepath.Join(dir, "out", "*_"+w.name+".csv"))
	}
	if err != nil || len(files) != 1 {
		return v, errors.Join(err, fmt.Errorf("there are %d results of %s in %s", len(files), w.name, dir))
	}
	d, err := o.of(ctx, w)
	if err != nil {
		return v, err
	}
	if _, is := d.made[w.name]; !is {
		if _, err := d.conn.Exec(ctx, "CREATE TABLE expected_"+w.name+" AS "+w.view); err != nil {
			return v, err
		}
		if d.made[w.name], err = d.count(ctx, w.keys); err != nil {
			return v, err
		}
	}
	v.keys = d.made[w.name]
	isDeltas := strings.HasSuffix(files[0], ".deltas.csv")
	columns, from := w.result, "FROM text"
	if isDeltas {
		columns = "{weight__: 'BIGINT', " + columns[1:]
	}
	read := fmt.Sprintf("SELECT * FROM read_csv('%s', header = false, auto_detect = false, columns = %s, delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false)",
		strings.ReplaceAll(files[0], "'", "''"), columns)
	if isDeltas {
		read = "SELECT * EXCLUDE (weight__), sum(weight__)::BIGINT AS weight__ FROM (" + read + ") GROUP BY ALL HAVING sum(weight__) <> 0"
		from = "SELECT * EXCLUDE (weight__, copy__) FROM (SELECT *, unnest(range(greatest(weight__, 0))) AS copy__ FROM text)"
	}
	if _, err := d.conn.Exec(ctx, "CREATE OR REPLACE TABLE text AS "+read); err != nil {
		return v, err
	}
	if isDeltas {
		if v.negative, err = d.count(ctx, "FROM text WHERE weight__ < 0"); err != nil {
			return v, err
		}
	}
	if v.rows, err = d.count(ctx, "FROM expected_"+w.name); err != nil {
		return v, err
	}
	if v.missing, err = d.count(ctx, "FROM expected_"+w.name+" EXCEPT ALL ("+from+")"); err != nil {
		return v, err
	}
	v.surplus, err = d.count(ctx, "("+from+") EXCEPT ALL FROM expected_"+w.name)
	return v, err
}

func (d *oracleData) count(ctx context.Context, sql string) (int64, error) {
	rows, err := d.conn.Rows(ctx, "SELECT count(*) FROM ("+sql+")")
	if err != nil {
		return 0, err
	}
	return rows[0][0].(int64), nil
}

func (o *oracle) close() error {
	var errs []error
	for _, d := range o.open {
		if d.event != nil {
			errs = append(errs, d.event.close())
			continue
		}
		if d.conn != nil {
			errs = append(errs, d.conn.Close())
		}
		if d.db != nil {
			errs = append(errs, d.db.Close())
		}
	}
	return errors.Join(errs...)
}
