package duck

/*
void duckScanBind(void *);
void duckScanInit(void *);
void duckScanRead(void *, void *);
void duckScanForget(void *);
*/
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// scanFunction is the table function behind [Conn.RegisterArrow]; its argument
// is a stream's unguessable token.
const scanFunction = "duck_arrow_stream"

// streams are the registered streams by token.
var streams sync.Map // string → *stream

// stream is one Arrow reader that a statement may scan once.
type stream struct {
	conn    *Conn
	reader  array.RecordReader
	names   []string
	types   []ddb.LogicalType
	started atomic.Bool

	mu       sync.Mutex // DuckDB's scan against release
	columns  []scanColumn
	released bool
	batch    arrow.RecordBatch // the current one, retained
	next     int64             // its first row that is not read yet
}

// scanColumn converts one column. Each column is converted on its own, since
// DuckDB gives the memory of a converted batch to its first column only.
type scanColumn struct {
	schema    *arrow.Schema
	converted ddb.ArrowConvertedSchema
}

// registerScan makes the table function known to the instance.
func (db *DB) registerScan() error {
	var conn ddb.Connection
	if ddb.Connect(db.raw, &conn) == ddb.StateError {
		return fmt.Errorf("duck: DuckDB refuses a connection")
	}
	defer ddb.Disconnect(&conn)
	f := ddb.CreateTableFunction()
	defer ddb.DestroyTableFunction(&f)
	ddb.TableFunctionSetName(f, scanFunction)
	text := ddb.CreateLogicalType(ddb.TypeVarchar)
	defer ddb.DestroyLogicalType(&text)
	ddb.TableFunctionAddParameter(f, text)
	ddb.TableFunctionSetBind(f, unsafe.Pointer(C.duckScanBind))
	ddb.TableFunctionSetInit(f, unsafe.Pointer(C.duckScanInit))
	ddb.TableFunctionSetFunction(f, unsafe.Pointer(C.duckScanRead))
	if ddb.RegisterTableFunction(conn, f) == ddb.StateError {
		return fmt.Errorf("duck: DuckDB refuses the table function %s", scanFunction)
	}
	return nil
}

// RegisterArrow makes r readable as the temporary view name on this
// connection, for one statement: the stream can be scanned once. Being
// temporary, it never lands in the current catalog, and a transaction that has
// written a lake may make it too. An error or panic of r is the error of the statement.
//
// The returned function drops the view and forgets the stream; r is not
// released before. It needs the connection free.
func (c *Conn) RegisterArrow(name string, r array.RecordReader) (release func() error, err error) {
	if err := c.take(context.Background()); err != nil {
		return nil, err
	}
	defer c.give()
	s := &stream{conn: c, reader: r}
	if err := s.prepare(); err != nil {
		s.free()
		return nil, err
	}
	token := make([]byte, 16)
	rand.Read(token)
	key := hex.EncodeToString(token)
	streams.Store(key, s)
	r.Retain()
	view := `temp.main.` + quoteName(name)
	err = c.execLocked("CREATE TEMP VIEW " + quoteName(name) + " AS SELECT * FROM " + scanFunction + "('" + key + "')")
	if err != nil {
		streams.Delete(key)
		s.free()
		r.Release()
		return nil, err
	}
	var once sync.Once
	return func() (err error) {
		once.Do(func() {
			streams.Delete(key)
			s.free()
			r.Release()
			if err = c.take(context.Background()); err != nil {
				return
			}
			defer c.give()
			err = c.execLocked("DROP VIEW IF EXISTS " + view)
			var e *Error
			if errors.As(err, &e) && e.Type == "TransactionContext" {
				err = nil // the transaction failed: its rollback drops the view
			}
		})
		return err
	}, nil
}

// execLocked runs statements for a caller that has the connection.
func (c *Conn) execLocked(sql string) error {
	last, err := c.runAllButLast(sql)
	if err != nil || last == nil {
		return err
	}
	defer last.destroy()
	_, err = last.exec(nil)
	return err
}

// prepare asks DuckDB for the types of the stream's columns. They are read off
// an empty converted batch, because the C API does not show a converted schema.
func (s *stream) prepare() error {
	for _, f := range s.reader.Schema().Fields() {
		col := scanColumn{schema: arrow.NewSchema([]arrow.Field{f}, nil)}
		var ed ddb.ErrorData
		col.converted, ed = ddb.SchemaFromArrow(s.conn.raw, col.schema)
		if err := s.conn.db.takeError(ed); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		s.columns = append(s.columns, col)
		empty := array.NewRecordBatch(col.schema, []arrow.Array{emptyArray(f.Type)}, 0)
		chunk, ed := ddb.DataChunkFromArrow(s.conn.raw, empty, col.converted)
		empty.Release()
		err := s.conn.db.takeError(ed)
		if err == nil {
			s.types = append(s.types, ddb.VectorGetColumnType(ddb.DataChunkGetVector(chunk, 0)))
			s.names = append(s.names, f.Name)
		}
		ddb.DestroyDataChunk(&chunk)
		if err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return nil
}

func emptyArray(t arrow.DataType) arrow.Array {
	b := array.NewBuilder(allocator, t)
	defer b.Release()
	return b.NewArray()
}

func (db *DB) takeError(ed ddb.ErrorData) error {
	defer ddb.DestroyErrorData(&ed)
	if ddb.ErrorDataHasError(ed) {
		return db.fail(ddb.ErrorDataMessage(ed), "")
	}
	return nil
}

// free forgets DuckDB's handles; a scan that still runs gets an error.
func (s *stream) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = true
	for i := range s.columns {
		ddb.DestroyArrowConvertedSchema(&s.columns[i].converted)
	}
	for i := range s.types {
		ddb.DestroyLogicalType(&s.types[i])
	}
	s.columns, s.types = nil, nil
	s.dropBatch()
}

func (s *stream) dropBatch() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// read fills DuckDB's chunk with the stream's next rows; size 0 ends the scan.
func (s *stream) read(chunk ddb.DataChunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return errors.New("the Arrow stream is released")
	}
	for s.batch == nil || s.next == s.batch.NumRows() {
		s.dropBatch()
		s.next = 0
		if !s.reader.Next() {
			return s.reader.Err()
		}
		b := s.reader.RecordBatch()
		if int(b.NumCols()) != len(s.columns) {
			return fmt.Errorf("an Arrow batch has %d columns, its schema %d", b.NumCols(), len(s.columns))
		}
		for i, col := range b.Columns() {
			if want := s.columns[i].schema.Field(0).Type; !arrow.TypeEqual(col.DataType(), want) {
				return fmt.Errorf("column %q of an Arrow batch is %s, its schema says %s", s.names[i], col.DataType(), want)
			}
			if err := validate(col); err != nil {
				return fmt.Errorf("column %q of an Arrow batch is malformed: %w", s.names[i], err)
			}
		}
		b.Retain()
		s.batch = b
	}
	n := min(int64(ddb.VectorSize()), s.batch.NumRows()-s.next)
	for i, col := range s.columns {
		part := array.NewSlice(s.batch.Column(i), s.next, s.next+n)
		rec := array.NewRecordBatch(col.schema, []arrow.Array{part}, n)
		part.Release()
		converted, ed := ddb.DataChunkFromArrow(s.conn.raw, rec, col.converted)
		rec.Release()
		if err := s.conn.db.takeError(ed); err != nil {
			return err
		}
		ddb.VectorReferenceVector(ddb.DataChunkGetVector(chunk, ddb.IdxT(i)), ddb.DataChunkGetVector(converted, 0))
		ddb.DestroyDataChunk(&converted)
	}
	s.next += n
	ddb.DataChunkSetSize(chunk, ddb.IdxT(n))
	return nil
}

// guarded turns a panic of the reader or of arrow-go into an error: it must
// not unwind through DuckDB's frames.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading the Arrow stream panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

//export duckScanBind
func duckScanBind(info unsafe.Pointer) {
	bind := ddb.BindInfo{Ptr: info}
	err := guarded(func() error {
		v := ddb.BindGetParameter(bind, 0)
		defer ddb.DestroyValue(&v)
		key := ddb.GetVarchar(v)
		x, ok := streams.Load(key)
		if !ok {
			return errors.New("no such Arrow stream")
		}
		s := x.(*stream)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.released {
			return errors.New("the Arrow stream is released")
		}
		for i, name := range s.names {
			ddb.BindAddResultColumn(bind, name, s.types[i])
		}
		ddb.BindSetBindData(bind, keep(s), unsafe.Pointer(C.duckScanForget))
		return nil
	})
	if err != nil {
		ddb.BindSetError(bind, err.Error())
	}
}

//export duckScanInit
func duckScanInit(info unsafe.Pointer) {
	init := ddb.InitInfo{Ptr: info}
	err := guarded(func() error {
		s := kept(ddb.InitGetBindData(init))
		if !s.started.CompareAndSwap(false, true) {
			return errors.New("the Arrow stream was read already; it can be scanned once")
		}
		ddb.InitSetMaxThreads(init, 1)
		return nil
	})
	if err != nil {
		ddb.InitSetError(init, err.Error())
	}
}

//export duckScanRead
func duckScanRead(info, chunk unsafe.Pointer) {
	f := ddb.FunctionInfo{Ptr: info}
	err := guarded(func() error {
		return kept(ddb.FunctionGetBindData(f)).read(ddb.DataChunk{Ptr: chunk})
	})
	if err != nil {
		ddb.FunctionSetError(f, err.Error())
	}
}
