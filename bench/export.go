package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/duckdb/duckdb-go-bindings"
)

// export is DuckDB without anything of ours: its C API's streaming result, and its own conversion to Arrow.
type export struct {
	db   duckdb_go_bindings.Database
	conn duckdb_go_bindings.Connection
}

// openExport opens an instance with a lake of its own.
func openExport(extension, place string) (*export, error) {
	if err := os.MkdirAll(place, 0o755); err != nil {
		return nil, err
	}
	e := &export{}
	if duckdb_go_bindings.Open("", &e.db) == duckdb_go_bindings.StateError {
		return nil, errors.New("DuckDB does not open")
	}
	if duckdb_go_bindings.Connect(e.db, &e.conn) == duckdb_go_bindings.StateError {
		return nil, errors.New("DuckDB does not connect")
	}
	for _, sql := range []string{
		fmt.Sprintf("LOAD '%s'", extension),
		fmt.Sprintf("ATTACH 'ducklake:%s.ducklake' AS lake (DATA_PATH '%s/')", place, place),
		"USE lake",
	} {
		if err := e.exec(sql); err != nil {
			e.close()
			return nil, err
		}
	}
	return e, nil
}

func (e *export) close() {
	duckdb_go_bindings.Disconnect(&e.conn)
	duckdb_go_bindings.Close(&e.db)
}

func (e *export) exec(sql string) error {
	var res duckdb_go_bindings.Result
	defer duckdb_go_bindings.DestroyResult(&res)
	if duckdb_go_bindings.Query(e.conn, sql, &res) == duckdb_go_bindings.StateError {
		return errors.New(duckdb_go_bindings.ResultError(&res))
	}
	return nil
}

// read runs a query and converts every chunk of its stream to Arrow; it returns the rows.
func (e *export) read(sql string) (rows int64, err error) {
	var st duckdb_go_bindings.PreparedStatement
	defer duckdb_go_bindings.DestroyPrepare(&st)
	if duckdb_go_bindings.Prepare(e.conn, sql, &st) == duckdb_go_bindings.StateError {
		return 0, errors.New(duckdb_go_bindings.PrepareError(st))
	}
	var pending duckdb_go_bindings.PendingResult
	defer duckdb_go_bindings.DestroyPending(&pending)
	if duckdb_go_bindings.PendingPreparedStreaming(st, &pending) == duckdb_go_bindings.StateError {
		return 0, errors.New(duckdb_go_bindings.PendingError(pending))
	}
	var res duckdb_go_bindings.Result
	defer duckdb_go_bindings.DestroyResult(&res)
	if duckdb_go_bindings.ExecutePending(pending, &res) == duckdb_go_bindings.StateError {
		return 0, errors.New(duckdb_go_bindings.ResultError(&res))
	}
	options := duckdb_go_bindings.ResultGetArrowOptions(&res)
	defer duckdb_go_bindings.DestroyArrowOptions(&options)
	var types []duckdb_go_bindings.LogicalType
	var names []string
	for i := range duckdb_go_bindings.ColumnCount(&res) {
		types = append(types, duckdb_go_bindings.ColumnLogicalType(&res, i))
		names = append(names, duckdb_go_bindings.ColumnName(&res, i))
	}
	schema, fail := duckdb_go_bindings.NewArrowSchema(options, types, names)
	duckdb_go_bindings.DestroyErrorData(&fail)
	for i := range types {
		duckdb_go_bindings.DestroyLogicalType(&types[i])
	}
	for {
		chunk := duckdb_go_bindings.FetchChunk(res)
		if chunk.Ptr == nil {
			break
		}
		rec, fail := duckdb_go_bindings.DataChunkToArrowArray(options, schema, chunk)
		duckdb_go_bindings.DestroyErrorData(&fail)
		rows += rec.NumRows()
		rec.Release()
		duckdb_go_bindings.DestroyDataChunk(&chunk)
	}
	if msg := duckdb_go_bindings.ResultError(&res); msg != "" {
		return rows, errors.New(msg)
	}
	return rows, nil
}
