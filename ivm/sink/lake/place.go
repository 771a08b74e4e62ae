package lake

import (
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// place is where a row lies, in one word: a file and a position in it, or the id of an inlined row, which is greater than all of those.
type place uint64

const (
	inlinedBit   = place(1) << 63
	positionBits = 28
	maxPosition  = 1<<positionBits - 1
	maxFile      = 1<<(63-positionBits) - 1
)

func placeOf(l publish.Location) (place, error) {
	if l.File == publish.Inlined {
		return inlinedBit | place(l.Position), nil
	}
	if l.Position > maxPosition || l.File > maxFile {
		return 0, fault.LakeUnsupported.Newf("row %d of data file %d of a streaming view: files may have %d rows and numbers up to %d",
			l.Position, l.File, maxPosition+1, int64(maxFile))
	}
	return place(l.File)<<positionBits | place(l.Position), nil
}

func (p place) inlined() bool { return p&inlinedBit != 0 }

// rowID is of an inlined row.
func (p place) rowID() int64 { return int64(p &^ inlinedBit) }

// file is of a row in a file.
func (p place) file() int64 { return int64(p >> positionBits) }

func (p place) location() publish.Location {
	if p.inlined() {
		return publish.Location{File: publish.Inlined, Position: p.rowID()}
	}
	return publish.Location{File: p.file(), Position: int64(p & maxPosition)}
}
