package stream

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

func TestBegin(t *testing.T) {
	served := catalog.Published{Generation: 2, Epoch: 7, Snapshot: 40}
	is := point{Generation: 2, Epoch: 5, Published: 30, Shown: 30, Frontier: 29}
	with := func(f func(*point)) point {
		p := is
		f(&p)
		return p
	}
	for _, c := range []struct {
		name   string
		wanted int64
		now    catalog.Published
		p      point
		there  bool
		how    Beginning
	}{
		{"nothing was published", 1, catalog.Published{}, point{}, false, First},
		{"the next generation", 3, served, is, true, First},
		{"a checkpoint behind what is published", 2, served, is, true, Resume},
		{"a checkpoint of what is published", 2, served, with(func(p *point) { p.Epoch, p.Shown = 7, 40 }), true, Resume},
		{"no checkpoint", 2, served, point{}, false, Again},
		{"of another generation", 2, served, with(func(p *point) { p.Generation = 1 }), true, Again},
		{"ahead of a restored catalog", 2, served, with(func(p *point) { p.Epoch = 8 }), true, Again},
		{"of another history of the catalog", 2, served, with(func(p *point) { p.Epoch, p.Shown = 7, 39 }), true, Again},
	} {
		t.Run(c.name, func(t *testing.T) {
			if how, why := Begin(c.wanted, c.now, c.p, c.there); how != c.how {
				t.Errorf("%d (%s), not %d", how, why, c.how)
			}
		})
	}
	if p, ok, err := decodePoint(is.encode()); err != nil || !ok || p != is {
		t.Errorf("a point comes back as %+v, %v, %v", p, ok, err)
	}
}
