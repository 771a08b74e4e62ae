package stream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// exact compares the changes that are handed to subscribers with what the lake's history says of the same snapshots.
type exact struct {
	l      *lab
	mu     sync.Mutex
	given  int
	inside int // publications whose change the lake may show as another one
	wrong  error
}

func (x *exact) on(l *lab) {
	x.l = l
	l.configure = append(l.configure, func(c *stream.Config) { c.Publishing = x.publishing })
}

func (x *exact) publishing(uuid string, delta *zset.Batch) func(int64) {
	before := delta.Clone()
	return func(snapshot int64) {
		var err error
		if snapshot > 0 {
			err = x.compare(uuid, snapshot, delta)
			if !before.Equal(delta) {
				err = errors.Join(err, fmt.Errorf("a change was changed while it was published"))
			}
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.wrong = errors.Join(x.wrong, err); snapshot > 0 {
			x.given++
		} else {
			x.inside++
		}
	}
}

func (x *exact) compare(uuid string, snapshot int64, delta *zset.Batch) error {
	ctx := context.Background()
	tables, err := x.l.source.Tables(ctx, []string{uuid}, snapshot)
	if err != nil {
		return err
	}
	t, there := tables[uuid]
	if !there {
		return fmt.Errorf("view %s has no table at %d, where it was published", uuid, snapshot)
	}
	sum := zset.New(delta.Layout)
	r := stream.Reading{TableID: t.ID, UUID: uuid, Name: t.Name, Columns: append([]catalog.Column(nil), t.Columns...), Layout: delta.Layout, Position: -1}
	err = x.l.source.Changes(ctx, r, snapshot-1, snapshot, func(b *zset.Batch) error {
		sum.AppendBatch(b)
		return nil
	})
	if fault.CodeOf(err) == fault.HistoryExpired {
		return nil
	}
	if err != nil {
		return err
	}
	sum.Consolidate()
	if !sum.Equal(delta) {
		return fmt.Errorf("the change of %s at %d: given\n%.2000sthe feed has\n%.2000s", t.Name, snapshot, delta.Print(), sum.Print())
	}
	return nil
}

// check says what was wrong.
func (x *exact) check() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wrong
}
