package flightsql

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/vegadb/vega-flight/fault"
)

// sent is a stream of messages that a test made.
type sent struct {
	flight.FlightService_DoPutServer
	rest []*flight.FlightData
}

// sending keeps what a writer writes.
type sending struct{ to *sent }

func (s sending) Send(d *flight.FlightData) error {
	s.to.rest = append(s.to.rest, proto.Clone(d).(*flight.FlightData))
	return nil
}

func (s *sent) Recv() (*flight.FlightData, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	d := s.rest[0]
	s.rest = s.rest[1:]
	return d, nil
}

// send writes batches as a client does.
func send(t testing.TB, schema *arrow.Schema, rows string, batches int, opts ...ipc.Option) *sent {
	t.Helper()
	s := &sent{}
	w := flight.NewRecordWriter(sending{s}, append(opts, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true))...)
	for range batches {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// readSent is what the server does with a stream: how many rows come, and the error at the end.
func readSent(s *sent) (rows int64, err error) {
	var in *received
	err = noPanic(func() error {
		r, err := flight.NewRecordReader(&checked{FlightService_DoPutServer: s}, ipc.WithDelayReadSchema(true))
		if err != nil {
			return err
		}
		in, err = receive(r)
		return err
	})
	if err != nil {
		return 0, err
	}
	for in.Next() {
		rows += in.RecordBatch().NumRows()
	}
	return rows, in.Err()
}

var wide = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.StringView, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true})), Nullable: true},
	{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), Nullable: true},
	{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), Nullable: true},
	{Name: "n", Type: arrow.Null, Nullable: true},
}, &arrow.Metadata{})

const wideRows = `[{"i": 1, "s": "one", "v": "a text that is longer than what a view holds itself", "l": [{"a": 1}, {"a": null}], "m": [{"key": "k", "value": 1.5}], "f": [1, 2], "n": null},
	{"i": null, "s": null, "v": null, "l": null, "m": null, "f": null, "n": null}]`

var coded = arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true}}, nil)

func goodStreams(t testing.TB) []*sent {
	return []*sent{
		send(t, wide, wideRows, 2), send(t, wide, wideRows, 2, ipc.WithZstd()), send(t, wide, wideRows, 2, ipc.WithLZ4()),
		send(t, coded, `[{"d": "a"}, {"d": "b"}, {"d": "a"}, {"d": null}]`, 1), send(t, arrow.NewSchema(nil, nil), `[]`, 1),
	}
}

func TestGoodStreamsAreRead(t *testing.T) {
	for i, s := range goodStreams(t) {
		want := []int64{4, 4, 4, 4, 0}[i]
		if rows, err := readSent(s); rows != want || err != nil {
			t.Errorf("stream %d: %d rows, %v", i, rows, err)
		}
	}
}

// TestTypesWithoutEnd makes a field its own child.
func TestTypesWithoutEnd(t *testing.T) {
	s := send(t, arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8), Nullable: true}}, nil), `[]`, 1)
	header := s.rest[0].DataHeader
	h := &headerCheck{flat: header}
	schema := h.child(h.root(), 2)
	fields, _, err := h.vector(schema, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	field := fields + h.u32(fields)
	children, _, err := h.vector(field, 5, 4)
	if err != nil {
		t.Fatal(err)
	}
	// Offsets have no sign in the format, and the readers let them wrap around.
	back := uint32(int32(field - children))
	header[children], header[children+1], header[children+2], header[children+3] = byte(back), byte(back>>8), byte(back>>16), byte(back>>24)
	if _, err := readSent(s); fault.CodeOf(err) != fault.InvalidParameter {
		t.Errorf("%v", err)
	}
}

// TestBombs lets a buffer say that it unpacks to more than there is memory.
func TestBombs(t *testing.T) {
	s := send(t, wide, wideRows, 1, ipc.WithZstd())
	batch := s.rest[1]
	h := &headerCheck{flat: batch.DataHeader}
	buffers, n, err := h.vector(h.child(h.root(), 2), 2, 16)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range n {
		if at := h.i64(buffers + 16*i); h.i64(buffers+16*i+8) > 0 {
			binary.LittleEndian.PutUint64(batch.DataBody[at:], 200<<20)
			changed++
		}
	}
	if changed < 6 {
		t.Fatalf("only %d buffers", changed)
	}
	if _, err := readSent(s); fault.CodeOf(err) != fault.InvalidParameter || !strings.Contains(err.Error(), "unpacks") {
		t.Errorf("%v", err)
	}
}

// FuzzStreams changes one message of a good stream; whatever comes of it, it is no fault of the server.
func FuzzStreams(f *testing.F) {
	for stream := range goodStreams(f) {
		for message := range 3 {
			f.Add(byte(stream), byte(message), true, uint16(40), []byte{0xff, 0xff, 0xff, 0x3f})
			f.Add(byte(stream), byte(message), false, uint16(0), []byte{0x80})
		}
	}
	f.Fuzz(func(t *testing.T, stream, message byte, header bool, at uint16, change []byte) {
		streams := goodStreams(t)
		s := streams[int(stream)%len(streams)]
		m := s.rest[int(message)%len(s.rest)]
		part := m.DataBody
		if header {
			part = m.DataHeader
		}
		if int(at) < len(part) {
			copy(part[at:], change)
		}
		if _, err := readSent(s); err != nil && fault.CodeOf(err) != fault.InvalidParameter {
			t.Error(err)
		}
	})
}
