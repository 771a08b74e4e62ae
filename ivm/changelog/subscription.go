package changelog

import (
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// Subscription is one subscriber's way through a view's history. One goroutine uses it at a time.
type Subscription struct {
	*Request
	followed *followed
	needs    atomic.Int64 // the oldest snapshot whose successors it may still read

	position int64 // everything up to it was given
	applied  int64 // where a subscriber that has what was given so far may go on; None
	spoke    bool  // the schema was sent
	frame    bool  // a frame at position comes first
	dirty    bool  // with a key: another program's rows are in what was given or comes first, so the next commit comes as a frame
	moved    bool  // position grew and nobody was told
	owed     bool  // a publication was sent, and its end is to be told
	said     time.Time
	tale     *tale

	// own are the commits in (position, until], when the view's list begins later.
	own   []commit
	until int64
}

// Start notes where later begins. Whoever starts a request gets all that is committed from then on.
func (r *Request) Start(ctx context.Context) error {
	head, err := r.c.Source.Head(ctx)
	if err != nil {
		return err
	}
	if r.opt.AsOf > head {
		return fault.InvalidOption.Newf("as_of is %d, and the lake's newest snapshot is %d", r.opt.AsOf, head).
			WithHint("give the _time up to which the changes of this view were applied")
	}
	r.start = head
	return nil
}

// Open begins to follow the view. The caller closes the subscription.
func (r *Request) Open(ctx context.Context) (_ *Subscription, err error) {
	head, err := r.c.Source.Head(ctx)
	if err != nil {
		return nil, err
	}
	s := &Subscription{Request: r, position: r.start, applied: r.start}
	switch {
	case r.opt.AsOf >= 0:
		s.position, s.applied = r.opt.AsOf, r.opt.AsOf
	case r.opt.Snapshot:
		s.position, s.applied, s.frame = head, None, true
		if r.opt.UpTo >= 0 {
			s.position = min(s.position, r.opt.UpTo)
		}
	}
	s.needs.Store(s.position)
	if err := r.c.join(s, head); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := r.c.hold(ctx, s.followed, s.position); err != nil {
		return nil, s.expired(err)
	}
	if err := s.wasThere(ctx); err != nil {
		return nil, err
	}
	if r.opt.Upsert {
		s.dirty = s.unclean(ctx)
	}
	return s, nil
}

// wasThere looks whether the view's table existed at the position.
func (s *Subscription) wasThere(ctx context.Context) error {
	var tables map[string]catalog.Table
	if s.position > 0 { // the lake's first snapshot has no tables
		var err error
		if tables, err = s.c.Source.Tables(ctx, []string{s.view.UUID}, s.position); err != nil {
			return s.expired(err)
		}
	}
	if _, there := tables[s.view.UUID]; !there {
		return s.old().Newf("view %s did not exist at lake snapshot %d", s.view.Name, s.position).WithHint("%s", s.fromStart())
	}
	return nil
}

func (s *Subscription) old() *fault.Code {
	if s.opt.AsOf >= 0 {
		return fault.ResumeExpired
	}
	return fault.InvalidOption
}

// expired makes of history that is gone what it means for a subscriber.
func (s *Subscription) expired(err error) error {
	if code := fault.CodeOf(err); code != fault.HistoryExpired && code != fault.HistoryRewritten {
		return err
	}
	return fault.ResumeExpired.Wrap(err, "the changes of view %s since lake snapshot %d are gone", s.view.Name, s.position).WithHint("%s", s.fromStart())
}

func (s *Subscription) fromStart() string {
	return "start with the content: SUBSCRIBE TO " + s.view.Name.String() + " WITH (snapshot = true)"
}

// unclean says that another program's rows may be in the table at the position.
func (s *Subscription) unclean(ctx context.Context) bool {
	from := max(s.position-1, 0)
	if s.view.Published <= s.position {
		from = s.view.Published
	}
	commits, err := s.c.Source.Commits(ctx, from, s.position)
	if err != nil {
		return true
	}
	for _, c := range touching(commits, s.view.TableID, from) {
		if c.foreign {
			return true
		}
	}
	return false
}

// Close ends the subscription. It may be called again.
func (s *Subscription) Close() {
	if s.tale != nil {
		s.c.release(s.tale.tape)
		s.tale = nil
	}
	if s.followed != nil {
		s.c.leave(s)
		s.followed = nil
	}
}

// Message is one batch, and what is said of it.
type Message struct {
	Batch arrow.RecordBatch
	Note  Note
}

// Next gives the next batch, and io.EOF after the last. It waits as long as it takes, and gives a batch without rows now and then. The
// subscriber is taken to have what was given before.
func (s *Subscription) Next(ctx context.Context) (Message, error) {
	if !s.spoke {
		s.spoke = true
		return s.nothing(), nil
	}
	if s.applied >= 0 {
		s.needs.Store(s.applied)
	}
	beat, stop := s.c.Clock.After(s.c.Heartbeat)
	defer stop()
	for {
		if s.frame {
			s.frame = false
			s.tell(commit{snapshot: s.position, rows: true}, content)
			s.tale.foreign = s.dirty
		}
		if s.tale != nil {
			if m, more, err := s.tale.next(ctx, s); err != nil {
				return Message{}, s.expired(err)
			} else if more {
				return m, nil
			}
			continue
		}
		if s.owed = s.owed && s.opt.Progress && !s.dirty; s.owed {
			return s.at(), nil
		}
		if s.ended() {
			if s.opt.Progress && s.moved && !s.dirty {
				return s.at(), nil
			}
			return Message{}, io.EOF
		}
		m, said, err := s.step(ctx)
		if err != nil || said {
			return m, err
		}
		if s.tale != nil || s.ended() {
			continue
		}
		m, said, err = s.wait(ctx, beat)
		if err != nil || said {
			return m, err
		}
	}
}

func (s *Subscription) ended() bool { return s.opt.UpTo >= 0 && s.position >= s.opt.UpTo }

// step goes on to what happened next, as far as it is known.
func (s *Subscription) step(ctx context.Context) (m Message, said bool, err error) {
	next, limit, err := s.pending(ctx)
	switch {
	case err != nil:
		return m, false, err
	case next == nil:
		s.pass(limit)
		if s.opt.Progress && s.moved && !s.dirty && s.c.Clock.Now().Sub(s.said) >= s.c.Pace && !s.ended() {
			return s.at(), true, nil
		}
		return m, false, nil
	case next.gone:
		return m, false, fault.ViewNotFound.Newf("view %s was dropped, or made again, in lake snapshot %d", s.view.Name, next.snapshot)
	case next.schema:
		if err := s.sameColumns(ctx, next.snapshot); err != nil {
			return m, false, err
		}
	}
	if !next.rows {
		s.pass(next.snapshot)
		return m, false, nil
	}
	switch {
	case !s.view.Streaming:
		s.tell(*next, content)
	case !s.opt.Upsert:
		s.tell(*next, changes)
	case next.foreign || s.dirty:
		s.tell(*next, content)
	default:
		s.tell(*next, upserts)
	}
	s.tale.foreign = next.foreign
	return m, false, nil
}

// pass goes on to a snapshot up to which there is nothing to send.
func (s *Subscription) pass(to int64) {
	if to <= s.position {
		return
	}
	s.position = to
	if !s.dirty { // who goes on from here would not know of the other program's rows
		s.applied, s.moved = to, true
	}
}

// sameColumns looks whether the table has the columns still.
func (s *Subscription) sameColumns(ctx context.Context, at int64) error {
	tables, err := s.c.Source.Tables(ctx, []string{s.view.UUID}, at)
	if err != nil {
		return err
	}
	if t, there := tables[s.view.UUID]; there && !catalog.SameColumns(t.Columns, s.view.Columns) {
		return fault.ViewAltered.Newf("another program changed the columns of view %s in lake snapshot %d; everything before it was sent", s.view.Name, at)
	}
	return nil
}

// pending is the next commit that matters after the position, or how far there is none.
func (s *Subscription) pending(ctx context.Context) (*commit, int64, error) {
	s.c.mu.Lock()
	f := s.followed
	at, known := f.at, s.position >= f.from
	commits := f.commits
	if known {
		commits = commits[sort.Search(len(commits), func(i int) bool { return commits[i].snapshot > s.position }):]
		if s.view.Streaming { // they come one by one
			commits = commits[:min(len(commits), 1)]
		}
		commits = slices.Clone(commits)
	}
	s.c.mu.Unlock()
	if !known {
		var err error
		if commits, at, err = s.search(ctx, at); err != nil {
			return nil, 0, err
		}
	}
	if s.opt.UpTo >= 0 {
		at = min(at, s.opt.UpTo)
	}
	var next *commit
	for i := range commits {
		c := &commits[i]
		if c.snapshot <= s.position || c.snapshot > at {
			continue
		}
		if s.view.Streaming {
			return c, at, nil
		}
		// Only the newest generation matters, and what ends the view after it.
		if c.gone || c.schema && !c.rows {
			if next == nil {
				next = c
			}
			break
		}
		next = c
	}
	return next, at, nil
}

// searched is how many snapshots a subscriber that is far behind looks at in one go.
const searched = 1000

// search asks the catalog for commits between the position and what the view's list has.
func (s *Subscription) search(ctx context.Context, at int64) ([]commit, int64, error) {
	if s.position < s.until {
		return s.own, s.until, nil
	}
	to := at
	if s.view.Streaming {
		to = min(at, s.position+searched)
	}
	if to <= s.position {
		return nil, s.position, nil
	}
	found, err := s.c.Source.Commits(ctx, s.position, to)
	switch {
	case err == nil:
		s.own = touching(found, s.view.TableID, s.position)
	case !s.view.Streaming && errors.Is(err, fault.HistoryExpired.Sentinel()):
		s.own = []commit{{snapshot: to, rows: true}} // whatever came between, its newest content is enough
	default:
		return nil, 0, s.expired(err)
	}
	s.until = to
	return s.own, to, nil
}

// wait waits for something to tell.
func (s *Subscription) wait(ctx context.Context, beat <-chan time.Time) (m Message, said bool, err error) {
	s.c.mu.Lock()
	grew, news := s.followed.grew, s.followed.at > s.position
	s.c.mu.Unlock()
	if news {
		return m, false, nil
	}
	var pace <-chan time.Time
	if s.opt.Progress && s.moved && !s.dirty {
		var stop func() bool
		pace, stop = s.c.Clock.After(max(s.c.Pace-s.c.Clock.Now().Sub(s.said), 0))
		defer stop()
	}
	select {
	case <-ctx.Done():
		return m, false, context.Cause(ctx)
	case <-s.c.ctx.Done():
		return m, false, fault.Draining.Newf("the server is shutting down")
	case <-beat:
		return s.nothing(), true, nil
	case <-grew:
	case <-pace:
	}
	return m, false, nil
}
