package stream

// Wanted is what a view's rows ask for.
type Wanted struct {
	There      bool // there is such a view
	Owned      bool // by this server
	Denied     bool // its owner may not read its sources, or is gone
	Paused     bool
	Restarts   int64
	Generation int64
	Options    string // equal texts are equal options
	Upstream   bool   // all streaming views that it reads are live here
}

// Phase is what this server does for a view.
type Phase int

// The phases.
const (
	Absent   Phase = iota // nothing
	Building              // a member is being made
	Live                  // a member is in a group
	Blocked               // it was stopped by a reason; the view's last result is served
)

// Observed is what this server has of a view.
type Observed struct {
	Phase      Phase
	Restarts   int64 // that were acted on
	Generation int64 // of the member, live or being built
	Options    string
	Beside     int64 // generation that is built beside the live one; 0: none
	State      State // of a blocked one
	Due        bool  // it is time to try a blocked one again
	Later      bool  // it is not time yet to try a next generation again
}

// Action is what is to be done next.
type Action int

// The actions.
const (
	Nothing     Action = iota
	Build              // make a member, from the checkpoint if that is of use
	BuildBeside        // make the next generation's member while the live one goes on
	Stop               // write a checkpoint, stop, and build again
	Abandon            // give up the build, and begin again
	Pause              // write a checkpoint, stop, and say PAUSED
	Deny               // stop, and say PERMISSION_BLOCKED
	Wait               // say what it waits for
	Release            // stop without a word: somebody else owns it
	Discard            // stop and remove all that was kept for it
)

// Decide says what is to be done for a view.
func Decide(w Wanted, o Observed) Action {
	switch {
	case !w.There:
		return Discard
	case !w.Owned:
		if o.Phase == Absent {
			return Nothing
		}
		return Release
	case w.Denied:
		if o.Phase == Blocked && o.State == PermissionBlocked {
			return Nothing
		}
		return Deny
	case w.Paused:
		if o.Phase == Blocked && o.State == Paused {
			return Nothing
		}
		return Pause
	}
	changed := w.Restarts != o.Restarts || w.Options != o.Options
	switch o.Phase {
	case Absent:
		return orWait(w, Build)
	case Blocked:
		if changed || w.Generation != o.Generation || o.Due || o.State == Paused || o.State == PermissionBlocked {
			return orWait(w, Build)
		}
		return Nothing
	case Building:
		if changed || w.Generation != o.Generation {
			return Abandon
		}
		return Nothing
	case Live:
		switch {
		case changed:
			return Stop
		case w.Generation != o.Generation && o.Beside == 0 && o.Later:
		case w.Generation != o.Generation && o.Beside == 0:
			return BuildBeside
		case o.Beside != 0 && w.Generation != o.Beside:
			return Abandon
		}
	}
	return Nothing
}

// orWait is the action, if what the view reads is there.
func orWait(w Wanted, a Action) Action {
	if !w.Upstream {
		return Wait
	}
	return a
}
