package duck

/*
#include <stdlib.h>
void duckSlotBind(void *);
void duckSlotInit(void *);
void duckSlotRead(void *, void *);
void duckSlotForget(void *);
*/
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync"
	"unsafe"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// slotFunction is the table function behind [Conn.RegisterSlot]; its argument is a slot's unguessable token.
const slotFunction = "duck_slot"

const noSlot = "no such slot"

// slots are the registered slots by token.
var slots sync.Map // string → *Slot

// Slot is a view whose rows a Go function writes, chunk by chunk, straight into DuckDB's vectors, each time the view is scanned.
// A statement over it is prepared once and executed as often as there are rows for it.
//
// The function is called by whoever executes the statement, on the thread that executes it: on an instance of one thread that is
// the caller's own.
type Slot struct {
	conn  *Conn
	key   string
	name  string
	names []string
	raw   []ddb.LogicalType
	types []*sqlType
	fill  func(*Sheet) error
	sheet Sheet
}

// RegisterSlot makes the columns, given by name and SQL type, readable as the temporary view name. fill is called for each chunk
// of a scan; leaving Rows at 0 ends it. The view cannot be scanned twice at the same time.
func (c *Conn) RegisterSlot(ctx context.Context, name string, columns []Column, fill func(*Sheet) error) (*Slot, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if err := c.registerSlots(); err != nil {
		return nil, err
	}
	s := &Slot{conn: c, name: name, fill: fill}
	if err := s.decide(columns); err != nil {
		return nil, err
	}
	token := make([]byte, 16)
	rand.Read(token)
	s.key = hex.EncodeToString(token)
	slots.Store(s.key, s)
	if err := c.execLocked("CREATE OR REPLACE TEMP VIEW " + quoteName(name) + " AS SELECT * FROM " + slotFunction + "('" + s.key + "')"); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// decide finds the columns' types, as DuckDB reads them.
func (s *Slot) decide(columns []Column) error {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, col := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "NULL::%s", col.Type)
		s.names = append(s.names, col.Name)
	}
	list, n, err := s.conn.extract(b.String())
	if err != nil {
		return err
	}
	defer ddb.DestroyExtracted(&list)
	if n != 1 {
		return fmt.Errorf("duck: the columns of a slot are not types: %s", b.String())
	}
	p, err := s.conn.prepare(list, 0, b.String())
	if err != nil {
		return err
	}
	defer p.destroy()
	for i := range columns {
		s.types = append(s.types, describe(ddb.PreparedStatementColumnLogicalType(p.raw, ddb.IdxT(i))))
		s.raw = append(s.raw, ddb.PreparedStatementColumnLogicalType(p.raw, ddb.IdxT(i)))
	}
	s.sheet.columns = make([]CellWriter, len(columns))
	return nil
}

// Forget begins another turn: what was written in the turn before the last is freed. A statement over the slot that stays open must
// have given all its rows of that turn.
func (s *Slot) Forget() { s.sheet.arena.next() }

// Close drops the view. It needs the connection free.
func (s *Slot) Close() error {
	defer s.free()
	if err := s.conn.take(context.Background()); err != nil {
		return err
	}
	defer s.conn.give()
	return s.conn.execLocked("DROP VIEW IF EXISTS temp.main." + quoteName(s.name))
}

func (s *Slot) free() {
	slots.Delete(s.key)
	for i := range s.raw {
		ddb.DestroyLogicalType(&s.raw[i])
	}
	s.raw = nil
	s.sheet.arena.free()
}

// registerSlots makes the table function known to the instance, unless it is: each change of the catalog has every prepared statement
// planned anew.
func (c *Conn) registerSlots() error {
	var known ddb.PreparedStatement
	ddb.Prepare(c.raw, "SELECT * FROM "+slotFunction+"('')", &known)
	message := ddb.PrepareError(known)
	ddb.DestroyPrepare(&known)
	if strings.Contains(message, noSlot) {
		return nil
	}
	f := ddb.CreateTableFunction()
	defer ddb.DestroyTableFunction(&f)
	ddb.TableFunctionSetName(f, slotFunction)
	text := ddb.CreateLogicalType(ddb.TypeVarchar)
	defer ddb.DestroyLogicalType(&text)
	ddb.TableFunctionAddParameter(f, text)
	ddb.TableFunctionSetBind(f, C.duckSlotBind)
	ddb.TableFunctionSetInit(f, C.duckSlotInit)
	ddb.TableFunctionSetFunction(f, C.duckSlotRead)
	if ddb.RegisterTableFunction(c.raw, f) == ddb.StateError {
		return fmt.Errorf("duck: DuckDB refuses the table function %s", slotFunction)
	}
	return nil
}

//export duckSlotBind
func duckSlotBind(info unsafe.Pointer) {
	bind := ddb.BindInfo{Ptr: info}
	err := guarded(func() error {
		v := ddb.BindGetParameter(bind, 0)
		defer ddb.DestroyValue(&v)
		x, ok := slots.Load(ddb.GetVarchar(v))
		if !ok {
			return errors.New(noSlot)
		}
		s := x.(*Slot)
		for i, name := range s.names {
			ddb.BindAddResultColumn(bind, name, s.raw[i])
		}
		p := (*C.size_t)(C.malloc(C.sizeof_size_t))
		*p = C.size_t(cgo.NewHandle(s))
		ddb.BindSetBindData(bind, unsafe.Pointer(p), C.duckSlotForget)
		return nil
	})
	if err != nil {
		ddb.BindSetError(bind, err.Error())
	}
}

//export duckSlotInit
func duckSlotInit(info unsafe.Pointer) {
	ddb.InitSetMaxThreads(ddb.InitInfo{Ptr: info}, 1)
}

//export duckSlotRead
func duckSlotRead(info, chunk unsafe.Pointer) {
	f := ddb.FunctionInfo{Ptr: info}
	err := guarded(func() error {
		s := cgo.Handle(*(*C.size_t)(ddb.FunctionGetBindData(f))).Value().(*Slot)
		if s.raw == nil {
			return errors.New("the slot is closed")
		}
		s.sheet.open(ddb.DataChunk{Ptr: chunk}, s.types)
		if err := s.fill(&s.sheet); err != nil {
			return err
		}
		ddb.DataChunkSetSize(ddb.DataChunk{Ptr: chunk}, ddb.IdxT(s.sheet.Rows))
		return nil
	})
	if err != nil {
		ddb.FunctionSetError(f, err.Error())
	}
}

//export duckSlotForget
func duckSlotForget(p unsafe.Pointer) {
	cgo.Handle(*(*C.size_t)(p)).Delete()
	C.free(p)
}
