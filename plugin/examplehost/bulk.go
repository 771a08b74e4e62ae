package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	batchRows = 64 << 10
	batches   = 100 // of 1 MiB: two columns of 8 bytes
)

var bulkSchema = arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)

// bulk sends rows by Flight SQL's ingest, reads them back, and compares.
func (h *host) bulk(ctx context.Context) error {
	s, err := h.session(ctx)
	if err != nil {
		return err
	}
	in := newNumbers()
	defer in.Release()
	sent, err := s.ExecuteIngest(ctx, in, &flightsql.ExecuteIngestOpts{
		Table: "numbers",
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{
			IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate, IfExists: flightsql.TableDefinitionOptionsTableExistsOptionReplace,
		},
	})
	if err != nil {
		return err
	}
	read, sum := int64(0), int64(0)
	err = s.rows(ctx, "SELECT i, v FROM numbers", func(r array.RecordReader) error {
		for r.Next() {
			read += r.RecordBatch().NumRows()
			values, ok := r.RecordBatch().Column(1).(*array.Int64)
			if !ok {
				return fmt.Errorf("column v is %s", r.RecordBatch().Column(1).DataType())
			}
			for _, v := range values.Int64Values() {
				sum += v
			}
		}
		return r.Err()
	})
	if err == nil && (read != sent || sum != in.sum) {
		err = fmt.Errorf("%d rows with sum %d were sent, %d with %d came back", sent, in.sum, read, sum)
	}
	if err == nil {
		fmt.Printf("  %d rows, %d MiB each way\n", sent, sent*16>>20)
	}
	return err
}

// numbers makes batches when they are asked for.
type numbers struct {
	build *array.RecordBuilder
	batch arrow.RecordBatch
	left  int
	sum   int64
	next  int64
}

func newNumbers() *numbers {
	return &numbers{build: array.NewRecordBuilder(memory.DefaultAllocator, bulkSchema), left: batches}
}

// Schema is that of all batches.
func (n *numbers) Schema() *arrow.Schema { return bulkSchema }

// Next makes a batch.
func (n *numbers) Next() bool {
	if n.left == 0 {
		return false
	}
	n.left--
	i, iok := n.build.Field(0).(*array.Int64Builder)
	v, vok := n.build.Field(1).(*array.Int64Builder)
	if !iok || !vok {
		return false
	}
	for range batchRows {
		i.Append(n.next)
		v.Append(n.next * 7)
		n.sum += n.next * 7
		n.next++
	}
	n.drop()
	n.batch = n.build.NewRecordBatch()
	return true
}

func (n *numbers) drop() {
	if n.batch != nil {
		n.batch.Release()
		n.batch = nil
	}
}

// RecordBatch is the one that Next made.
func (n *numbers) RecordBatch() arrow.RecordBatch { return n.batch }

// Record is the same.
func (n *numbers) Record() arrow.RecordBatch { return n.batch }

// Err is never one.
func (n *numbers) Err() error { return nil }

// Retain keeps it; there is one user.
func (n *numbers) Retain() {}

// Release frees it.
func (n *numbers) Release() {
	n.drop()
	n.build.Release()
}
