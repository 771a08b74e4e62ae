package stream

import "testing"

func TestDecide(t *testing.T) {
	ok := Wanted{There: true, Owned: true, Upstream: true, Generation: 1, Options: "o"}
	live := Observed{Phase: Live, Generation: 1, Options: "o", State: Running}
	w := func(f func(*Wanted)) Wanted {
		x := ok
		f(&x)
		return x
	}
	o := func(f func(*Observed)) Observed {
		x := live
		f(&x)
		return x
	}
	for _, c := range []struct {
		name string
		w    Wanted
		o    Observed
		a    Action
	}{
		{"a new view", ok, Observed{}, Build},
		{"a new view over one that is not there yet", w(func(w *Wanted) { w.Upstream = false }), Observed{}, Wait},
		{"a view that runs", ok, live, Nothing},
		{"dropped", Wanted{}, live, Discard},
		{"dropped while it is built", Wanted{}, Observed{Phase: Building}, Discard},
		{"somebody else's", w(func(w *Wanted) { w.Owned = false }), live, Release},
		{"somebody else's, and nothing here", w(func(w *Wanted) { w.Owned = false }), Observed{}, Nothing},
		{"its owner may not any more", w(func(w *Wanted) { w.Denied = true }), live, Deny},
		{"and that is known", w(func(w *Wanted) { w.Denied = true }), Observed{Phase: Blocked, State: PermissionBlocked}, Nothing},
		{"its owner may again", ok, Observed{Phase: Blocked, State: PermissionBlocked, Generation: 1, Options: "o"}, Build},
		{"to be paused", w(func(w *Wanted) { w.Paused = true }), live, Pause},
		{"to be paused while it is built", w(func(w *Wanted) { w.Paused = true }), Observed{Phase: Building}, Pause},
		{"to be paused when it has failed", w(func(w *Wanted) { w.Paused = true }), Observed{Phase: Blocked, State: Failed}, Pause},
		{"paused", w(func(w *Wanted) { w.Paused = true }), Observed{Phase: Blocked, State: Paused}, Nothing},
		{"resumed", ok, Observed{Phase: Blocked, State: Paused, Generation: 1, Options: "o"}, Build},
		{"a next generation that could not be built is tried again", w(func(w *Wanted) { w.Generation = 2 }), live, BuildBeside},
		{"later", w(func(w *Wanted) { w.Generation = 2 }), o(func(o *Observed) { o.Later = true }), Nothing},
		{"restarted", w(func(w *Wanted) { w.Restarts = 1 }), live, Stop},
		{"restarted while it is built", w(func(w *Wanted) { w.Restarts = 1 }), Observed{Phase: Building, Generation: 1, Options: "o"}, Abandon},
		{"other options", w(func(w *Wanted) { w.Options = "p" }), live, Stop},
		{"failed", ok, Observed{Phase: Blocked, State: Failed, Generation: 1, Options: "o"}, Nothing},
		{"failed and restarted", w(func(w *Wanted) { w.Restarts = 1 }), Observed{Phase: Blocked, State: Failed, Generation: 1, Options: "o"}, Build},
		{"failed and rebuilt", w(func(w *Wanted) { w.Generation = 2 }), Observed{Phase: Blocked, State: Failed, Generation: 1, Options: "o"}, Build},
		{"time to try again", ok, Observed{Phase: Blocked, State: Recovering, Generation: 1, Options: "o", Due: true}, Build},
		{"time to try again, over one that is not there", w(func(w *Wanted) { w.Upstream = false }), Observed{Phase: Blocked, State: Recovering, Generation: 1, Options: "o", Due: true}, Wait},
		{"to be rebuilt", w(func(w *Wanted) { w.Generation = 2 }), live, BuildBeside},
		{"being rebuilt", w(func(w *Wanted) { w.Generation = 2 }), o(func(o *Observed) { o.Beside = 2 }), Nothing},
		{"to be rebuilt once more", w(func(w *Wanted) { w.Generation = 3 }), o(func(o *Observed) { o.Beside = 2 }), Abandon},
		{"restarted while it is rebuilt", w(func(w *Wanted) { w.Generation, w.Restarts = 2, 1 }), o(func(o *Observed) { o.Beside = 2 }), Stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := Decide(c.w, c.o); a != c.a {
				t.Errorf("%d, not %d", a, c.a)
			}
		})
	}
}
