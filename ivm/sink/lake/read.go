package lake

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
)

// wanted are the rows of a picture that are to be read: those of some files and some inlined ones. nil is all.
type wanted struct {
	files   []int64
	inlined map[int64]bool
}

// manyFiles is from how many files on the table is read as a whole.
const manyFiles = 500

// where is the condition that makes the lake open no other files.
func (w *wanted) where(p *picture) string {
	if w == nil || len(w.files) > manyFiles {
		return ""
	}
	var parts []string
	if len(w.files) > 0 {
		names := p.names(w.files)
		for i, n := range names {
			names[i] = metadata.QuoteLiteral(n)
		}
		parts = append(parts, `parse_filename(filename) IN (`+strings.Join(names, ", ")+`)`)
	}
	if len(w.inlined) > 0 {
		parts = append(parts, `filename NOT LIKE '%.parquet'`)
	}
	return strings.Join(parts, " OR ")
}

// errAgain says that the table is not as the picture has it any more.
var errAgain = errors.New("lake: the table has changed while it was read")

// met is told of rows: row i of words has the place, and the lake's id.
type met func(words []uint64, h *row.Heap, places []place, ids []int64) error

// read reads rows of the picture. With positions, it reads no columns, and what is told of has no words.
func (r *result) read(ctx context.Context, p *picture, w *wanted, positions bool, each met) error {
	err := r.s.reading(ctx, func(c *duck.Conn) error { return r.readOn(ctx, c, p, w, positions, each) })
	if err == nil || errors.Is(err, errAgain) {
		return err
	}
	if untouched, e := r.untouched(ctx, p, 0); e == nil && !untouched {
		return errAgain // files go away under who reads an older picture
	}
	return err
}

// untouched says that nothing was done to the table from the picture to a snapshot; 0 is the newest.
func (r *result) untouched(ctx context.Context, p *picture, to int64) (bool, error) {
	var h history
	err := r.s.db.View(ctx, func(tx metadata.Tx) error {
		if to == 0 {
			newest, err := metadata.Latest(ctx, tx)
			if err != nil {
				return err
			}
			to = newest.ID
		}
		var err error
		h, err = readHistory(ctx, tx, p.table.ID, p.at, to)
		return err
	})
	return h.known && h.class == metadata.Untouched, err
}

func (r *result) readOn(ctx context.Context, c *duck.Conn, p *picture, w *wanted, positions bool, each met) error {
	var columns []string
	if !positions {
		if len(p.table.Columns) != len(r.layout.Types) {
			return fault.ViewAltered.Newf("the table of view %s.%s has %d columns, the view %d", p.table.Schema, p.table.Name, len(p.table.Columns), len(r.layout.Types))
		}
		for _, col := range p.table.Columns {
			columns = append(columns, metadata.QuoteIdent(col.Name))
		}
	}
	columns = append(columns, "rowid")
	var files map[int64]bool
	if w != nil {
		files = make(map[int64]bool, len(w.files))
		for _, id := range w.files {
			files[id] = true
		}
	}
	var (
		words  []uint64
		heap   row.Heap
		places []place
	)
	seen, err := r.s.Publisher.Locate(ctx, c, p.table, columns, w.where(p), func(b arrow.RecordBatch, at []publish.Location) error {
		last := len(columns) - 1
		ids, ok := b.Column(last).(*array.Int64)
		if !ok {
			return fault.InternalError.Newf("row ids came as %s", b.Column(last).DataType())
		}
		heap.Reset()
		words = words[:0]
		if !positions {
			rec := array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[:last], nil), b.Columns()[:last], b.NumRows())
			var err error
			words, err = r.layout.FromArrow(words, &heap, rec)
			rec.Release()
			if err != nil {
				return err
			}
		}
		n, width := 0, r.layout.Words
		places = places[:0]
		kept := make([]int64, 0, len(at))
		for i, l := range at {
			if w != nil && (l.File == publish.Inlined && !w.inlined[l.Position] || l.File != publish.Inlined && !files[l.File]) {
				continue
			}
			to, err := placeOf(l)
			if err != nil {
				return err
			}
			if !positions && n != i {
				copy(words[n*width:(n+1)*width], words[i*width:(i+1)*width])
			}
			n++
			places = append(places, to)
			kept = append(kept, ids.Value(i))
		}
		if n == 0 {
			return nil
		}
		if r.told != nil {
			r.told(n)
		}
		return each(words, &heap, places, kept)
	})
	if err != nil || seen == p.at {
		return err
	}
	ok, err := r.untouched(ctx, p, seen)
	if err == nil && !ok {
		err = errAgain
	}
	return err
}
