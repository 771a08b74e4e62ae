package changelog

import (
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Progress is what a row without data says.
type Progress string

// What progress rows say.
const (
	begin Progress = "begin" // what was applied before is void, and the whole content follows
	end   Progress = "end"   // the content is complete
	at    Progress = "at"    // everything up to the time was sent
)

// What is done to a key.
const (
	opUpsert = "upsert"
	opDelete = "delete"
)

// Note says beside a batch what its columns say, for clients that see it, and where to go on.
type Note struct {
	Time     int64    `json:"time"`
	Progress Progress `json:"progress,omitempty"`
	Weight   int64    `json:"weight,omitempty"` // of all rows, when it is the same
	Last     bool     `json:"last,omitempty"`   // with this batch, everything up to the time was sent
	// AsOf is where a subscriber that has applied this batch and all before it may go on. Nothing yet: it is not there.
	AsOf *int64 `json:"as_of,omitempty"`
}

// JSON is the note as it goes beside its batch.
func (n Note) JSON() []byte {
	b, err := json.Marshal(n)
	if err != nil {
		panic("changelog: a note must encode: " + err.Error())
	}
	return b
}

// Applied is where a subscriber that has everything given so far may go on; None when it has to start again.
func (s *Subscription) Applied() int64 { return s.applied }

func (s *Subscription) note(time int64, p Progress) Note {
	n := Note{Time: time, Progress: p}
	if s.applied >= 0 {
		as := s.applied
		n.AsOf = &as
	}
	return n
}

// nothing is a batch without rows.
func (s *Subscription) nothing() Message {
	return Message{Batch: s.batch(s.position, 0, "", nil, array.MakeArrayOfNull(memory.DefaultAllocator, s.schema.Field(1).Type, 0)), Note: s.note(s.position, "")}
}

// mark is a batch with one row that says how far things are.
func (s *Subscription) mark(p Progress, time int64) Message {
	second := array.MakeArrayOfNull(memory.DefaultAllocator, s.schema.Field(1).Type, 1)
	n := s.note(time, p)
	n.Last = p != begin
	return Message{Batch: s.batch(time, 1, p, nil, second), Note: n}
}

// at says that everything up to the position was sent.
func (s *Subscription) at() Message {
	s.said, s.moved, s.owed = s.c.Clock.Now(), false, false
	return s.mark(at, s.position)
}

// rows makes of a tape's batch what the subscriber wants. It has been noted already whether it is the last of its commit.
func (s *Subscription) rows(t *tale, kept arrow.RecordBatch, weight int64) (Message, bool, error) {
	n := int(kept.NumRows())
	last := s.tale != t
	m := Message{Note: s.note(t.snapshot, "")}
	m.Note.Last = last && !t.framed
	columns := kept.Columns()[1:]
	if !s.opt.Upsert {
		m.Note.Weight = weight
		m.Batch = s.batch(t.snapshot, n, "", columns, kept.Column(0))
		return m, true, nil
	}
	op := opUpsert
	if weights, ok := kept.Column(0).(*array.Int64); ok && n > 0 && weights.Value(0) < 0 { // all of a batch have one sign
		op = opDelete
		columns = s.keysOnly(columns, n)
	}
	m.Batch = s.batch(t.snapshot, n, "", columns, repeat(op, n))
	return m, true, nil
}

// keysOnly are columns of which only the key has values.
func (s *Subscription) keysOnly(columns []arrow.Array, n int) []arrow.Array {
	out := make([]arrow.Array, len(columns))
	for i := range columns {
		out[i] = array.MakeArrayOfNull(memory.DefaultAllocator, columns[i].DataType(), n)
	}
	for _, k := range s.view.Key {
		out[k] = columns[k]
	}
	return out
}

// batch puts a batch together; columns nil: they are NULL.
func (s *Subscription) batch(time int64, n int, p Progress, columns []arrow.Array, second arrow.Array) arrow.RecordBatch {
	times := make([]int64, n)
	for i := range times {
		times[i] = time
	}
	progress := array.MakeArrayOfNull(memory.DefaultAllocator, arrow.BinaryTypes.String, n)
	if p != "" {
		progress = repeat(string(p), n)
	}
	all := []arrow.Array{integers(times), second, progress}
	if columns == nil {
		for _, f := range s.schema.Fields()[leading:] {
			columns = append(columns, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, n))
		}
	}
	return array.NewRecordBatch(s.schema, append(all, columns...), int64(n))
}

// repeat is a column of one text.
func repeat(text string, n int) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for range n {
		b.Append(text)
	}
	return b.NewArray()
}
