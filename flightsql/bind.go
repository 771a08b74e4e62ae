package flightsql

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/fault"
)

// columnsOf says which column of bound batches belongs to each parameter. When
// the columns have the parameters' names they go by name, otherwise by place.
func columnsOf(schema *arrow.Schema, params []gate.Param) ([]int, error) {
	if schema.NumFields() != len(params) {
		return nil, fault.InvalidParameter.Newf("the statement has %d parameters and %d were bound", len(params), schema.NumFields())
	}
	columns := make([]int, len(params))
	named := true
	for i, p := range params {
		columns[i] = i
		at := schema.FieldIndices(p.Name)
		if _, err := strconv.Atoi(p.Name); err == nil || len(at) != 1 {
			named = false
		}
	}
	if named {
		for i, p := range params {
			columns[i] = schema.FieldIndices(p.Name)[0]
		}
	}
	return columns, nil
}

// argumentsOf is one row of a batch as arguments of a statement, which are valid as long as the batch.
func argumentsOf(batch arrow.RecordBatch, row int, columns []int) []any {
	args := make([]any, len(columns))
	for i, column := range columns {
		args[i] = duck.ArrowValue(batch.Column(column), row)
	}
	return args
}

// bound reads all rows of parameters, as far as limit bytes allow.
func bound(r *received, params []gate.Param, limit int64) (rows [][]any, size int64, err error) {
	columns, err := columnsOf(r.Schema(), params)
	if err != nil {
		return nil, 0, err
	}
	for r.Next() {
		batch := r.RecordBatch()
		if size += batchSize(batch); size > limit {
			return nil, 0, fault.QuotaExceeded.Newf("the parameters bound are more than the %d MiB that a session may keep", limit>>20).
				WithHint("send many rows with an update, or with bulk ingest")
		}
		// The arguments refer to the batch. It is the garbage collector's from here on, as
		// executions may still use it when the statement is bound anew.
		batch.Retain()
		for row := range int(batch.NumRows()) {
			rows = append(rows, argumentsOf(batch, row, columns))
		}
	}
	return rows, size, r.Err()
}

// parameterSchema describes a statement's parameters to clients.
func parameterSchema(params []gate.Param, java bool) *arrow.Schema {
	fields := make([]arrow.Field, len(params))
	for i, p := range params {
		t := parameterType(p.Type)
		if java {
			t = javaParameter(t)
		}
		fields[i] = arrow.Field{Name: p.Name, Type: t, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}
