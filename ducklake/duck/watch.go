package duck

import (
	"context"
	"time"
)

// watcher interrupts one statement once its context ends. DuckDB forgets an
// interrupt that arrives before the statement has begun, so the watcher repeats
// it until the statement is over. The statement does not return before its
// watcher has, which is why an interrupt never reaches the next statement.
type watcher struct {
	conn  *Conn
	over  chan struct{} // closed by the statement
	ended chan struct{} // closed by the watcher
}

// watch guards the statement that the caller is about to run, and shows it to
// the context's gauge; the returned function must be called when it is over.
func (c *Conn) watch(ctx context.Context) (stop func()) {
	unfollow := func() {}
	if g, ok := ctx.Value(gaugeKey{}).(*Gauge); ok {
		unfollow = g.follow(c)
	}
	if ctx.Done() == nil {
		return unfollow
	}
	w := &watcher{conn: c, over: make(chan struct{}), ended: make(chan struct{})}
	unhook := context.AfterFunc(ctx, w.interrupt)
	return func() {
		unfollow()
		close(w.over)
		if !unhook() {
			<-w.ended
		}
	}
}

func (w *watcher) interrupt() {
	defer close(w.ended)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-w.over:
			return
		default:
		}
		w.conn.Interrupt()
		select {
		case <-w.over:
			return
		case <-again.C:
		}
	}
}
