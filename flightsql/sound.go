package flightsql

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// sound checks that an array's buffers hold what it says, down to its leaves.
// The library's own check refuses arrays of type NULL, which are sent without buffers.
func sound(a arrow.Array) error {
	if a.DataType().ID() == arrow.NULL {
		return nil
	}
	if ext, ok := a.(array.ExtensionArray); ok {
		return sound(ext.Storage())
	}
	if err := backed(a); err != nil {
		return err
	}
	if v, ok := a.(array.Validator); ok {
		if err := v.ValidateFull(); err != nil {
			return err
		}
	}
	switch a := a.(type) {
	case *array.Dictionary:
		size := a.Dictionary().Len()
		for i := range a.Len() {
			if at := a.GetValueIndex(i); a.IsValid(i) && (at < 0 || at >= size) {
				return fmt.Errorf("a dictionary of %d entries has no entry %d", size, at)
			}
		}
		return sound(a.Dictionary())
	case *array.Struct:
		for i := range a.NumField() {
			if err := sound(a.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike:
		return sound(a.ListValues())
	case array.Union:
		for i := range a.NumFields() {
			if err := sound(a.Field(i)); err != nil {
				return err
			}
		}
	case *array.RunEndEncoded:
		return errors.Join(sound(a.RunEndsArr()), sound(a.Values()))
	}
	return nil
}

// backed checks the length of the buffers that have a fixed number of bits for each value.
func backed(a arrow.Array) error {
	data := a.Data()
	end, buffers := data.Offset()+data.Len(), data.Buffers()
	if len(buffers) > 0 && buffers[0] != nil && buffers[0].Len() > 0 && buffers[0].Len()*8 < end {
		return fmt.Errorf("the validity of %d values is in %d bytes", end, buffers[0].Len())
	}
	fixed, ok := a.DataType().(arrow.FixedWidthDataType)
	if !ok || arrow.IsNested(a.DataType().ID()) || end == 0 {
		return nil
	}
	if len(buffers) < 2 || buffers[1] == nil || buffers[1].Len()*8 < end*fixed.BitWidth() {
		return fmt.Errorf("%d values of %s are not in their buffer", end, a.DataType())
	}
	return nil
}
