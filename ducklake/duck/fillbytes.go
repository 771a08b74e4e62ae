package duck

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// bytesFiller fills texts and blobs of every Arrow layout.
type bytesFiller struct{ text bool }

// The accessors that the layouts share.
type (
	textArray  interface{ Value(int) string }
	bytesArray interface{ Value(int) []byte }
)

func (f bytesFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	for i := range n {
		if arr.IsNull(from + i) {
			dst.setNull(at + i)
			continue
		}
		var b []byte
		switch a := arr.(type) {
		case textArray:
			s := a.Value(from + i)
			if f.text && !utf8.ValidString(s) {
				return fmt.Errorf("the text %.40q is not valid UTF-8", s)
			}
			dst.setText(at+i, s)
			continue
		case bytesArray:
			b = a.Value(from + i)
		}
		dst.setBytes(at+i, b)
	}
	return nil
}

// dictionaryFiller fills each row from its entry in the dictionary.
type dictionaryFiller struct{ values filler }

func (f dictionaryFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	d := arr.(*array.Dictionary)
	values := d.Dictionary()
	for i := range n {
		if d.IsNull(from + i) {
			dst.setNull(at + i)
			continue
		}
		j := d.GetValueIndex(from + i)
		if j < 0 || j >= values.Len() {
			return fmt.Errorf("a dictionary of %d entries has no entry %d", values.Len(), j)
		}
		if err := f.values.fill(dst, at+i, values, j, 1); err != nil {
			return err
		}
	}
	return nil
}

// runFiller fills run-end encoded rows.
type runFiller struct{ values filler }

func (f runFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	a := arr.(*array.RunEndEncoded)
	for i := range n {
		if err := f.values.fill(dst, at+i, a.Values(), a.GetPhysicalIndex(from+i), 1); err != nil {
			return err
		}
	}
	return nil
}

// storageFiller fills an extension type as what it is stored as.
type storageFiller struct{ storage filler }

func (f storageFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	return f.storage.fill(dst, at, arr.(array.ExtensionArray).Storage(), from, n)
}

// uuidFiller fills UUIDs from 16 bytes each.
type uuidFiller struct{}

func (uuidFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	storage := arr.(array.ExtensionArray).Storage().(*array.FixedSizeBinary)
	out := cells[int128](dst, at, n)
	for i := range n {
		if storage.IsNull(from + i) {
			dst.setNull(at + i)
			continue
		}
		out[i] = uuidStored([16]byte(storage.Value(from + i)))
	}
	return nil
}
