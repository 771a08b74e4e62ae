package refusals

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/integration/process"
)

// raw sends and receives messages as the bytes they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (raw) Name() string                       { return "proto" }

// garbler makes garbage, the same in every run.
type garbler struct{ *rand.Rand }

func newGarbler() garbler { return garbler{rand.New(rand.NewPCG(11, 13))} }

func (g garbler) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// spoil changes a few bytes, cuts, or lengthens.
func (g garbler) spoil(b []byte) []byte {
	b = bytes.Clone(b)
	switch g.IntN(6) {
	case 0:
		return b[:g.IntN(len(b)+1)]
	case 1:
		return append(b, g.bytes(g.IntN(50))...)
	}
	for range 1 + g.IntN(8) {
		if len(b) > 0 {
			b[g.IntN(len(b))] = [...]byte{0, 1, 0x7f, 0x80, 0xff, byte(g.Uint32())}[g.IntN(6)]
		}
	}
	return b
}

// lives checks that the server still works.
func lives(t *testing.T, s *process.Server) {
	t.Helper()
	select {
	case <-s.Done():
		t.Fatalf("the process has ended:\n%s", s.Log())
	default:
	}
	if n := s.Connect(t).Value(t, "SELECT count(*) FROM t"); n != "3" {
		t.Fatalf("the table has %s rows", n)
	}
}

// civil says that an answer is a refusal, not the server's own fault.
func civil(t *testing.T, what string, err error) {
	t.Helper()
	switch code := status.Code(err); code {
	case codes.Unknown, codes.DataLoss:
		t.Errorf("%s: %v", what, err)
	case codes.Internal:
		// gRPC itself calls a message that it cannot read so.
		if text := err.Error(); strings.Contains(text, "INTERNAL_ERROR") || !strings.Contains(text, "grpc:") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestGarbageOnTheWire(t *testing.T) {
	s := process.Start(t, process.Options{Lake: t.TempDir() + "/lake", Args: []string{"--memory-limit", "1GB"}})
	s.Connect(t).Must(t, "CREATE TABLE t AS SELECT i FROM range(3) r(i)")
	g := newGarbler()
	t.Run("bytes", func(t *testing.T) {
		const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		for i := range 20 {
			text := string(g.bytes(1 + g.IntN(4000)))
			switch i % 4 {
			case 0:
				text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n" + text
			case 1:
				text = preface + text
			case 2:
				text = preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + text // a first frame as it must be
			}
			send(t, s, text)
		}
		lives(t, s)
	})
	conn, err := grpc.NewClient(strings.TrimPrefix(s.Flight, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Run("messages", func(t *testing.T) {
		seed, err := proto.Marshal(command(t, &pb.CommandStatementQuery{Query: "SELECT * FROM t"}))
		if err != nil {
			t.Fatal(err)
		}
		methods := []string{"Handshake", "ListFlights", "GetFlightInfo", "PollFlightInfo", "GetSchema", "DoGet", "DoPut", "DoExchange", "DoAction", "ListActions", "Nothing"}
		for i := range 300 {
			message := g.spoil(seed)
			if i%3 == 0 {
				message = g.bytes(g.IntN(300))
			}
			method := methods[i%len(methods)]
			civil(t, method, exchange(t, conn, method, message))
		}
		lives(t, s)
	})
	t.Run("commands", func(t *testing.T) {
		c := flight.NewFlightServiceClient(conn)
		for i := range 200 {
			any := &anypb.Any{TypeUrl: "type.googleapis.com/arrow.flight.protocol.sql." + commands[i%len(commands)], Value: g.bytes(g.IntN(40))}
			cmd, err := proto.Marshal(any)
			if err != nil {
				t.Fatal(err)
			}
			desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
			_, err = c.GetFlightInfo(t.Context(), desc)
			civil(t, any.TypeUrl, err)
			_, err = c.PollFlightInfo(t.Context(), desc)
			civil(t, any.TypeUrl, err)
			_, err = c.GetSchema(t.Context(), desc)
			civil(t, any.TypeUrl, err)
			for _, ticket := range [][]byte{cmd, g.bytes(20), []byte("vega-job:v1:" + string(g.bytes(20)))} {
				stream, err := c.DoGet(t.Context(), &flight.Ticket{Ticket: ticket})
				if err == nil {
					err = drain(stream.Recv)
				}
				civil(t, "DoGet", err)
			}
		}
		list, err := c.ListActions(t.Context(), &flight.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		for action, err := list.Recv(); err == nil; action, err = list.Recv() {
			for _, body := range [][]byte{nil, {}, []byte("{"), []byte(`{"job": 1}`), g.bytes(50), g.bytes(500)} {
				stream, err := c.DoAction(t.Context(), &flight.Action{Type: action.GetType(), Body: body})
				if err == nil {
					err = drain(stream.Recv)
				}
				civil(t, action.GetType(), err)
			}
		}
		lives(t, s)
	})
	t.Run("streams", func(t *testing.T) {
		c := flight.NewFlightServiceClient(conn)
		user := s.Connect(t)
		user.Must(t, "CREATE TABLE bound (i BIGINT, s VARCHAR, l INTEGER[], d VARCHAR)")
		insert, err := user.Prepare(t.Context(), "INSERT INTO bound VALUES (?, ?, ?, ?)")
		if err != nil {
			t.Fatal(err)
		}
		seeds := [][]*flight.FlightData{stream(t), stream(t, ipc.WithZstd())}
		for i := range streams(t) {
			var desc *flight.FlightDescriptor
			to := c
			switch i % 5 {
			case 0, 1:
				desc = command(t, &pb.CommandStatementIngest{Table: "made", TableDefinitionOptions: &pb.CommandStatementIngest_TableDefinitionOptions{
					IfNotExist: pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
					IfExists:   pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE,
				}})
			case 2:
				desc = command(t, &pb.CommandStatementUpdate{Query: "DELETE FROM t WHERE i > 2"})
			case 3:
				desc, to = command(t, &pb.CommandPreparedStatementUpdate{PreparedStatementHandle: insert.Handle()}), user.Client.Client
			}
			put(t, to, g, desc, seeds[i/5%2])
		}
		lives(t, s)
		if _, err := s.Connect(t).Query(t.Context(), "SELECT count(*) FROM made"); err != nil {
			process.Refused(t, err, "OBJECT_NOT_FOUND")
		}
	})
}

// streams is how many of them are sent; VEGA_GARBAGE asks for more.
func streams(t *testing.T) int {
	t.Helper()
	n := os.Getenv("VEGA_GARBAGE")
	if n == "" {
		return 150
	}
	i, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// commands are Flight SQL's, and some that are none.
var commands = []string{
	"CommandStatementQuery", "CommandPreparedStatementQuery", "CommandGetCatalogs", "CommandGetDbSchemas", "CommandGetTables", "CommandGetTableTypes", "CommandGetSqlInfo",
	"CommandGetPrimaryKeys", "CommandGetExportedKeys", "CommandGetImportedKeys", "CommandGetCrossReference", "CommandGetXdbcTypeInfo", "CommandStatementSubstraitPlan",
	"CommandStatementUpdate", "CommandStatementIngest", "TicketStatementQuery", "Nothing", "",
}

func command(t *testing.T, m proto.Message) *flight.FlightDescriptor {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := proto.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
}

// send writes to the port and reads until the server hangs up, or has nothing to say for a moment.
func send(t *testing.T, s *process.Server, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Flight, "grpc://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text) // it may hang up in the middle
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = io.Copy(io.Discard, conn)
}

// exchange sends one message of bytes to a method and reads all answers.
func exchange(t *testing.T, conn *grpc.ClientConn, method string, message []byte) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/arrow.flight.protocol.FlightService/"+method, grpc.ForceCodec(raw{}))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&message); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := stream.RecvMsg(&answer); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func drain[M any](recv func() (M, error)) error {
	for {
		if _, err := recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// stream is the messages of a good stream: a schema with nested columns, and two batches.
func stream(t *testing.T, opts ...ipc.Option) []*flight.FlightData {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	keep := &keeper{}
	w := flight.NewRecordWriter(keep, append(opts, ipc.WithSchema(schema))...)
	for range 2 {
		for i := range int64(20) {
			b.Field(0).(*array.Int64Builder).Append(i)
			b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", int(i)))
			l := b.Field(2).(*array.ListBuilder)
			l.Append(i%3 != 0)
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i))
			if err := b.Field(3).(*array.BinaryDictionaryBuilder).AppendString([]string{"a", "b"}[i%2]); err != nil {
				t.Fatal(err)
			}
		}
		rec := b.NewRecordBatch()
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return keep.messages
}

// keeper is a stream that keeps what is sent.
type keeper struct{ messages []*flight.FlightData }

func (k *keeper) Send(d *flight.FlightData) error {
	k.messages = append(k.messages, proto.Clone(d).(*flight.FlightData))
	return nil
}

// put sends a spoilt stream.
func put(t *testing.T, c interface {
	DoPut(context.Context, ...grpc.CallOption) (pb.FlightService_DoPutClient, error)
}, g garbler, desc *flight.FlightDescriptor, good []*flight.FlightData) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	stream, err := c.DoPut(ctx)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := g.IntN(len(good))
	for i, m := range good {
		d := &flight.FlightData{DataHeader: m.DataHeader, DataBody: m.DataBody}
		if i == 0 {
			d.FlightDescriptor = desc
		}
		if i == spoilt {
			if g.IntN(2) == 0 || len(d.DataBody) == 0 {
				d.DataHeader = g.spoil(d.DataHeader)
			} else {
				d.DataBody = g.spoil(d.DataBody)
			}
		}
		if stream.Send(d) != nil {
			break // the answer says why
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	civil(t, "DoPut", drain(stream.Recv))
}
