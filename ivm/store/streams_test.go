package store

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// streaming makes a streaming view without content.
func (w *world) streaming(name, mode string) string {
	w.t.Helper()
	w.ddl(`CREATE TABLE ` + name + ` (a INTEGER)`)
	r := viewRow(w.table(name))
	r.Kind = catalog.Streaming
	r = r.WithDefinition(catalog.Definition{Kind: catalog.Streaming, Query: "SELECT 1"})
	w.ok(w.db.Update(w.t.Context(), func(tx metadata.Tx) error {
		if err := w.s.InsertRow(w.t.Context(), tx, r); err != nil {
			return err
		}
		return w.s.InsertStream(w.t.Context(), tx, r.UUID, mode, 3)
	}))
	return r.UUID
}

func (w *world) record(uuid string) stream.Record {
	w.t.Helper()
	all, err := w.s.Control().Records(w.t.Context())
	w.ok(err)
	return all[uuid]
}

func TestStreams(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.t.Context()
		v := w.streaming("v", stream.Future)
		me := Owner{"one", 5}
		streams := w.s.Streams(func() Owner { return me }, nil)
		set, records, err := streams.Views(ctx)
		w.ok(err)
		r := records[v]
		if len(records) != 1 || set.ByUUID(v).State() != catalog.NotReady || r.Since.IsZero() {
			w.t.Errorf("%+v, %+v", set.Views, records)
		}
		r.Since = time.Time{}
		if want := (stream.Record{UUID: v, Generation: 1, Mode: stream.Future, Boundary: 3, State: stream.Starting, Reason: stream.Reason{Message: "no server has taken it up yet"}}); r != want {
			w.t.Errorf("a new view: %+v", r)
		}

		// What statements want.
		c := w.s.Control()
		w.ok(c.Pause(ctx, v, true))
		first := w.record(v)
		w.ok(c.Pause(ctx, v, true))
		if r = w.record(v); !r.Paused || r.PausedAt.IsZero() || r.PausedAt != first.PausedAt {
			w.t.Errorf("paused twice: %+v", r)
		}
		w.ok(c.Pause(ctx, v, false))
		w.ok(c.Restart(ctx, v))
		w.ok(c.Rebuild(ctx, v, ""))
		w.ok(c.Rebuild(ctx, v, stream.Backfill))
		if r = w.record(v); r.Paused || !r.PausedAt.IsZero() || r.Restarts != 1 || r.Generation != 3 || r.Mode != stream.Backfill {
			w.t.Errorf("changed: %+v", r)
		}
		if err := c.Restart(ctx, "nobody"); fault.CodeOf(err) != fault.ViewNotFound {
			w.t.Errorf("a restart of nothing: %v", err)
		}

		// What is, is said by the owner alone, and only that.
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		seen := stream.Record{UUID: v, Paused: true, Restarts: 9, State: stream.Failed, Reason: stream.Reason{Code: "X", Message: "row (a\x00\xff)", Hint: "h"},
			Since: at, Handled: 1, Boundary: 7, Late: 8, ServerID: "somebody", Fence: 99}
		w.ok(streams.Save(ctx, seen))
		if got := w.record(v); got != r {
			w.t.Errorf("saved without owning: %+v", got)
		}
		owned, err := streams.Claim(ctx, []string{v})
		w.ok(err)
		w.ok(streams.Save(ctx, seen))
		got := w.record(v)
		want := r
		want.State, want.Reason, want.Since, want.Handled, want.Boundary, want.Late, want.ServerID, want.Fence = seen.State,
			stream.Reason{Code: "X", Message: "row (a\\0\uFFFD)", Hint: "h"}, got.Since, 1, 7, 8, "one", 5
		if got != want || !got.Since.Equal(at) || !slices.Equal(owned, []string{v}) {
			w.t.Errorf("saved %+v\nwant  %+v", got, want)
		}

		// The views are read again only when something moved, the control rows always.
		again, _, err := streams.Views(ctx)
		w.ok(err)
		if again != set {
			w.t.Error("the views were read again")
		}
		w.ok(streams.Rebind(ctx, v, []catalog.Source{{UUID: "u", Name: catalog.Name{Schema: "main", Name: "t"}}}))
		w.ok(streams.Rebind(ctx, "nobody", nil))
		again, records, err = streams.Views(ctx)
		w.ok(err)
		if x := again.ByUUID(v); len(x.Sources) != 1 || x.Sources[0].UUID != "u" || x.Revision != 2 || !reflect.DeepEqual(records[v], got) {
			w.t.Errorf("bound again: %+v", x)
		}
		w.ok(w.s.Views().Delete(ctx, v))
		if _, records, err = streams.Views(ctx); err != nil || len(records) != 0 {
			w.t.Errorf("after the drop: %v, %v", records, err)
		}
		w.ok(streams.Save(ctx, seen))
	})
}

func TestClaims(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.t.Context()
		a, b, c := w.streaming("a", stream.Backfill), w.streaming("b", stream.Backfill), w.streaming("c", stream.Backfill)
		live := map[string]bool{"one": true, "two": true}
		server := func(id string, fence int64) *Streams {
			return w.s.Streams(func() Owner { return Owner{id, fence} }, func(context.Context) (map[string]bool, error) { return live, nil })
		}
		claim := func(s *Streams, want []string, uuids ...string) {
			w.t.Helper()
			got, err := s.Claim(ctx, uuids)
			slices.Sort(got)
			slices.Sort(want)
			if err != nil || !slices.Equal(got, want) {
				w.t.Errorf("claimed %v, %v; want %v", got, err, want)
			}
		}
		one, two := server("one", 1), server("two", 1)
		claim(one, []string{a}, a)
		claim(two, nil, a, b) // all or none
		claim(two, []string{b}, b, "gone")
		claim(one, []string{a, c}, c, a)
		claim(one, nil, b, c)
		// What two servers have comes together: one of them hands over, and the other has all.
		joins := w.streaming("joins", stream.Backfill)
		claim(one, nil, a, b, joins)
		claim(two, nil, a, b, joins)
		claim(two, nil, a, b, joins)
		if r := w.record(b); r.ServerID != "one" || r.Fence != 1 {
			w.t.Errorf("what was handed over is %q's, %d", r.ServerID, r.Fence)
		}
		claim(one, []string{a, b, joins}, a, b, joins)
		// A later life of the server takes over what the earlier one had; that one has nothing any more.
		later := server("one", 2)
		claim(later, []string{a, b, c, joins}, a, b, c, joins)
		claim(one, nil, a)
		// Whose lease is over loses everything.
		delete(live, "one")
		claim(two, []string{a, b, c}, a, b, c)
		claim(later, nil, a)
		// Without other servers, whatever is written there is of the past.
		alone := w.s.Streams(func() Owner { return Owner{"alone", 1} }, nil)
		claim(alone, []string{a, b, c}, a, b, c)
	})
}
