package changelog

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// None is the position of options that were not given.
const None = -1

// View is the view to follow, as it is now.
type View struct {
	UUID      string
	Name      catalog.Name
	TableID   int64
	Streaming bool
	Columns   []catalog.Column
	Key       []int // columns that are unique together; nil: none are known
	Published int64 // the snapshot of the newest publication
}

// Options are what a subscriber wants.
type Options struct {
	Snapshot bool  // the present content first
	Progress bool  // say how far everything is complete
	Upsert   bool  // rows by key, not with weights
	AsOf     int64 // the snapshot that the subscriber has applied; None
	UpTo     int64 // the snapshot after which the subscription ends; None
	Zone     string
}

// Request is a subscription that is not open yet.
type Request struct {
	c    *Changelog
	view View
	opt  Options

	layout *row.Layout
	kept   *arrow.Schema // of tapes: weight, then the view's columns
	schema *arrow.Schema // of what is sent
	start  int64         // where later begins
}

// The columns that come before the view's.
const (
	timeColumn     = "_time"
	weightColumn   = "_weight"
	opColumn       = "_op"
	progressColumn = "_progress"
)

// leading is the number of columns before the view's.
const leading = 3

// Request describes what a subscriber of the view will get. It asks nobody.
func (c *Changelog) Request(v View, o Options) (*Request, error) {
	r := &Request{c: c, view: v, opt: o}
	types, names := make([]row.Type, len(v.Columns)), make([]string, len(v.Columns))
	for i, col := range v.Columns {
		switch col.Name {
		case timeColumn, weightColumn, opColumn, progressColumn:
			return nil, fault.ReservedName.Newf("view %s has a column %s, which subscriptions have for themselves", v.Name, col.Name).
				WithHint("subscribe to a view over it that gives the column another name")
		}
		var err error
		if types[i], err = row.ParseType(col.Type); err != nil {
			return nil, fault.UnstableType.Wrap(err, "column %s of view %s cannot be subscribed to", col.Name, v.Name)
		}
		names[i] = col.Name
	}
	if o.Upsert && len(v.Key) == 0 {
		return nil, noKey(v)
	}
	r.layout = row.NewLayout(types...)
	own, err := r.layout.Schema(names, o.Zone)
	if err != nil {
		return nil, fault.UnstableType.Wrap(err, "view %s cannot be subscribed to", v.Name)
	}
	weight := field(weightColumn, arrow.PrimitiveTypes.Int64, "BIGINT")
	second := weight
	if o.Upsert {
		second = field(opColumn, arrow.BinaryTypes.String, "VARCHAR")
	}
	r.kept = arrow.NewSchema(append([]arrow.Field{weight}, own.Fields()...), nil)
	r.schema = arrow.NewSchema(append([]arrow.Field{
		field(timeColumn, arrow.PrimitiveTypes.Int64, "BIGINT"), second, field(progressColumn, arrow.BinaryTypes.String, "VARCHAR"),
	}, own.Fields()...), nil)
	return r, nil
}

func field(name string, t arrow.DataType, sql string) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true, Metadata: arrow.NewMetadata([]string{"ARROW:FLIGHT:SQL:TYPE_NAME"}, []string{sql})}
}

func noKey(v View) error {
	if !v.Streaming {
		return fault.InvalidOption.Newf("mode = 'upsert' needs a key, and a traditional view like %s has none: each of its generations is sent whole", v.Name).
			WithHint("use mode = 'retract'")
	}
	return fault.InvalidOption.Newf("mode = 'upsert' needs a key, and nothing says that columns of view %s are unique together", v.Name).
		WithHint("use mode = 'retract', or a view whose query ends with GROUP BY or DISTINCT")
}

// Schema is that of all batches.
func (r *Request) Schema() *arrow.Schema { return r.schema }

// View is what is subscribed to.
func (r *Request) View() View { return r.view }

// reading is what to read of the view's table.
func (r *Request) reading() stream.Reading {
	return stream.Reading{
		TableID: r.view.TableID, UUID: r.view.UUID, Name: r.view.Name, Columns: r.view.Columns, Layout: r.layout, Position: -1,
	}
}
