package lake

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Relation refuses where the lake's own reading of a snapshot is not what the feed goes on from.
func (s *Source) Relation(ctx context.Context, spec stream.Reading, at int64) (string, error) {
	if spec.After > 0 || spec.Position >= 0 {
		return "", fault.NotYetSupported.Newf("a part of table %s cannot be summed up", spec.Name)
	}
	text := ""
	err := s.with(ctx, func(r *reading) error {
		x, err := r.reader(ctx, s, spec, at)
		if err != nil {
			return err
		}
		exact, err := x.Exact(ctx, at)
		if err == nil && !exact {
			err = fault.NotYetSupported.Newf("table %s cannot be read at snapshot %d but by its files", spec.Name, at)
		}
		if err != nil {
			return err
		}
		table, columns, err := s.find(ctx, spec, at)
		if err == nil {
			text = relation(s.Lake.Name(), table, columns, spec, at)
		}
		return err
	})
	return text, err
}
