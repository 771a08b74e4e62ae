package ivm

import (
	"context"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/changelog"
	"github.com/vegadb/vega-flight/ivm/ddl"
)

// Subscribing is a subscription that is not open yet, Subscription one that is; Batch is one batch of it.
type (
	Subscribing  = changelog.Request
	Subscription = changelog.Subscription
	Batch        = changelog.Message
)

// Subscribe describes what SUBSCRIBE gives; times of instants are in the zone. It refuses what reading the view would be refused for.
func (e *Engine) Subscribe(ctx context.Context, c Caller, s *ddl.Subscribe, zone string) (*Subscribing, error) {
	if e.c.Changes == nil {
		return nil, fault.NotYetSupported.Newf("%s: this server serves no subscriptions", s.Verb())
	}
	v, _, err := e.find(ctx, c, s.Name)
	if err != nil {
		return nil, place(err, s.NameOffset)
	}
	if v.Problem != nil {
		return nil, v.Problem
	}
	if err := e.Admit(ctx, c, Access{Reads: []Object{{UUID: v.UUID}}}); err != nil {
		return nil, err
	}
	if err := v.Altered(); err != nil {
		return nil, err
	}
	o, err := subscribeOptions(s.Options, zone)
	if err != nil {
		return nil, err
	}
	view := changelog.View{
		UUID: v.UUID, Name: v.Name(), TableID: v.Table.ID, Streaming: v.Kind == catalog.Streaming,
		Columns: v.Table.Columns, Published: v.Published.Snapshot,
	}
	if o.Upsert && view.Streaming {
		if view.Key, err = e.key(ctx, v); err != nil {
			return nil, err
		}
	}
	return e.c.Changes.Request(view, o)
}

// subscribeOptions reads the options of SUBSCRIBE.
func subscribeOptions(options ddl.Options, zone string) (changelog.Options, error) {
	o := changelog.Options{
		Snapshot: options.Bool("snapshot", true), Progress: options.Bool("progress", false), AsOf: changelog.None, UpTo: changelog.None, Zone: zone,
	}
	if v, ok := options.Get("mode"); ok {
		o.Upsert = v.Text == "upsert"
	}
	if v, ok := options.Get("up_to"); ok {
		o.UpTo = v.Int
	}
	if v, ok := options.Get("as_of"); ok {
		o.AsOf = v.Int
		if _, said := options.Get("snapshot"); said && o.Snapshot {
			return o, fault.InvalidOption.Newf("as_of says that the content is there already, and snapshot = true asks for it").
				WithHint("leave one of them out")
		}
		o.Snapshot = false
	}
	return o, nil
}

// key is the smallest set of columns that are unique together; nil when none is known.
func (e *Engine) key(ctx context.Context, v *catalog.View) (key []int, err error) {
	p, err := e.c.Binder.Plan(ctx, v)
	if err != nil || p.Root == nil || !p.Admitted() {
		return nil, err
	}
	for _, k := range p.Info(p.Root).Keys {
		if len(k) > 0 && (key == nil || len(k) < len(key)) {
			key = k
		}
	}
	return key, nil
}
