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
	reader  array.RecordReader
	fields  []arrow.Field
	types   []*sqlType
	fillers []filler
	started atomic.Bool

	mu       sync.Mutex // DuckDB's scan against release
	released bool
	batch    arrow.RecordBatch // the current one, retained
	next     int64             // its first row that is not read yet
}

// registerScan makes the table function known to the instance.
func registerScan(conn ddb.Connection) error {
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
	s, err := newStream(r)
	if err != nil {
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

// newStream finds the stream's DuckDB types.
func newStream(r array.RecordReader) (*stream, error) {
	s := &stream{reader: r, fields: r.Schema().Fields()}
	for _, f := range s.fields {
		fill, err := newFiller(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		h, err := logicalType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		s.fillers = append(s.fillers, fill)
		s.types = append(s.types, describe(h))
	}
	return s, nil
}

func (db *DB) takeError(ed ddb.ErrorData) error {
	defer ddb.DestroyErrorData(&ed)
	if ddb.ErrorDataHasError(ed) {
		return db.fail(ddb.ErrorDataMessage(ed), "")
	}
	return nil
}

// free ends the stream; a scan that still runs gets an error.
func (s *stream) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = true
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
		if err := s.accept(b); err != nil {
			return err
		}
		b.Retain()
		s.batch = b
	}
	n := min(int64(ddb.VectorSize()), s.batch.NumRows()-s.next)
	for i, fill := range s.fillers {
		dst := newTarget(ddb.DataChunkGetVector(chunk, ddb.IdxT(i)), s.types[i])
		if err := fill.fill(dst, 0, s.batch.Column(i), int(s.next), int(n)); err != nil {
			return fmt.Errorf("column %q of the Arrow stream: %w", s.fields[i].Name, err)
		}
	}
	s.next += n
	ddb.DataChunkSetSize(chunk, ddb.IdxT(n))
	return nil
}

// accept says whether the batch is what the stream's schema promised.
func (s *stream) accept(b arrow.RecordBatch) error {
	if int(b.NumCols()) != len(s.fields) {
		return fmt.Errorf("an Arrow batch has %d columns, its schema %d", b.NumCols(), len(s.fields))
	}
	for i, col := range b.Columns() {
		if want := s.fields[i].Type; !arrow.TypeEqual(col.DataType(), want) {
			return fmt.Errorf("column %q of an Arrow batch is %s, its schema says %s", s.fields[i].Name, col.DataType(), want)
		}
		if int64(col.Len()) != b.NumRows() {
			return fmt.Errorf("column %q of an Arrow batch has %d rows of %d", s.fields[i].Name, col.Len(), b.NumRows())
		}
	}
	return nil
}

// guarded turns a panic of the reader or of arrow-go into an error: it must
// not unwind through DuckDB's frames.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the Arrow stream is malformed: %v", p)
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
		for _, f := range s.fields {
			t, err := logicalType(f.Type)
			if err != nil {
				return err
			}
			ddb.BindAddResultColumn(bind, f.Name, t)
			ddb.DestroyLogicalType(&t)
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
