package flightsql

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The library believes what the metadata of an Arrow message says about itself:
// it makes room for as many fields as a length claims, and follows fields into
// their children without end. Neither a memory that cannot be had nor a stack
// that is used up can be recovered from, so metadata is checked before the
// library sees it. What the library only panics over is not looked at.
const (
	mostFields   = 100_000
	deepestType  = 100
	mostUnpacked = 1 << 30 // bytes that the compressed buffers of one message may become
)

// messageCheck checks the metadata of the messages of one Arrow stream, and what their compressed buffers say that they unpack to.
type messageCheck struct {
	views int // columns, at every depth, whose number of buffers each batch says
	coded int // the same in a dictionary: one, if there is such a dictionary
	known bool
}

func (m *messageCheck) check(header, body []byte) error {
	err := noPanic(func() error {
		h := &headerCheck{flat: header, body: body}
		message := h.root()
		kind := byte(0)
		if at := h.field(message, 1); at != 0 {
			kind = header[at]
		}
		content := h.child(message, 2)
		if content == 0 {
			return nil
		}
		if err := h.pairs(message, 4); err != nil {
			return err
		}
		switch kind {
		case 1:
			views, err := h.schema(content)
			if !m.known {
				m.views, m.coded, m.known = views, h.coded, true
			}
			return err
		case 2:
			data := h.child(content, 1)
			if data == 0 {
				return nil
			}
			return h.batch(data, m.coded)
		case 3:
			return h.batch(content, m.views)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the metadata of an Arrow message is malformed: %w", err)
	}
	return nil
}

// headerCheck walks over a flatbuffer. Positions outside of it panic.
type headerCheck struct {
	flat   []byte
	body   []byte
	fields int
	coded  int
}

func (h *headerCheck) i64(at int) int64 { return int64(binary.LittleEndian.Uint64(h.flat[at:])) }

func (h *headerCheck) u32(at int) int { return int(binary.LittleEndian.Uint32(h.flat[at:])) }

// root is the position of the message's table.
func (h *headerCheck) root() int { return h.u32(0) }

// field is the position of a table's value, 0 when it has none. It must find what the library finds.
func (h *headerCheck) field(table, slot int) int {
	list := table - int(int32(h.u32(table)))
	if size := int(binary.LittleEndian.Uint16(h.flat[list:])); 4+2*slot >= size {
		return 0
	}
	at := int(binary.LittleEndian.Uint16(h.flat[list+4+2*slot:]))
	if at == 0 {
		return 0
	}
	return table + at
}

// child is the position of a table's table, 0 when it has none.
func (h *headerCheck) child(table, slot int) int {
	at := h.field(table, slot)
	if at == 0 {
		return 0
	}
	return at + h.u32(at)
}

// vector is the first element and the length of a table's vector, whose elements have a size.
func (h *headerCheck) vector(table, slot, size int) (first, n int, err error) {
	at := h.child(table, slot)
	if at == 0 {
		return 0, 0, nil
	}
	first, n = at+4, h.u32(at)
	if n > (len(h.flat)-first)/size {
		return 0, 0, fmt.Errorf("%d elements of %d bytes are not in %d bytes", n, size, len(h.flat))
	}
	return first, n, nil
}

// pairs checks metadata of keys and values.
func (h *headerCheck) pairs(table, slot int) error {
	_, _, err := h.vector(table, slot, 4)
	return err
}

func (h *headerCheck) schema(table int) (views int, err error) {
	if _, _, err := h.vector(table, 3, 8); err != nil {
		return 0, err
	}
	if err := h.pairs(table, 2); err != nil {
		return 0, err
	}
	return h.types(table, 1, 0)
}

// types checks the fields of a schema, or the children of a field, and counts those that are views.
func (h *headerCheck) types(table, slot, depth int) (views int, err error) {
	first, n, err := h.vector(table, slot, 4)
	if err != nil {
		return 0, err
	}
	if h.fields += n; h.fields > mostFields {
		return 0, fmt.Errorf("more than %d fields", mostFields)
	}
	if n > 0 && depth > deepestType {
		return 0, fmt.Errorf("a type with more than %d levels", deepestType)
	}
	for i := range n {
		at := first + 4*i
		field := at + h.u32(at)
		if err := h.pairs(field, 6); err != nil {
			return 0, err
		}
		inside, err := h.types(field, 5, depth+1)
		if err != nil {
			return 0, err
		}
		if kind := h.field(field, 2); kind != 0 {
			switch h.flat[kind] {
			case unionType:
				if union := h.child(field, 3); union != 0 {
					if _, _, err := h.vector(union, 1, 4); err != nil {
						return 0, err
					}
				}
			case binaryView, textView:
				inside++
			}
		}
		if h.field(field, 4) != 0 { // a dictionary's batch is its own
			if inside > 1 {
				return 0, errors.New("a dictionary with several columns of views")
			}
			h.coded, inside = max(h.coded, inside), 0
		}
		views += inside
	}
	return views, nil
}

// The format's numbers of types. Only unions have a vector in them.
const (
	unionType  = 14
	binaryView = 23
	textView   = 24
)

// batch checks a batch of a schema with so many views.
func (h *headerCheck) batch(table, views int) error {
	if _, _, err := h.vector(table, 1, 16); err != nil {
		return err
	}
	buffers, n, err := h.vector(table, 2, 16)
	if err != nil {
		return err
	}
	counts, said, err := h.vector(table, 4, 8)
	if err != nil {
		return err
	}
	if said < views && h.field(table, 4) != 0 {
		return fmt.Errorf("the numbers of buffers of %d columns, not of %d", said, views) // the library would read on
	}
	for i := range said {
		if count := h.i64(counts + 8*i); count < 0 || count > int64(n) {
			return fmt.Errorf("a column has %d buffers of %d", count, n)
		}
	}
	if h.field(table, 3) == 0 {
		return nil
	}
	var unpacked int64
	for i := range n {
		at, size := h.i64(buffers+16*i), h.i64(buffers+16*i+8)
		if size == 0 {
			continue
		}
		claim := int64(binary.LittleEndian.Uint64(h.body[at : at+size]))
		if claim > mostUnpacked-unpacked {
			return fmt.Errorf("a message unpacks to more than %d MiB", mostUnpacked>>20)
		}
		unpacked += max(claim, 0)
	}
	return nil
}
