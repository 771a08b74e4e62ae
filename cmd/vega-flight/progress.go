package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// barDelay is how long a statement has to run before its progress is drawn.
const barDelay = 500 * time.Millisecond

// jobState is what the server says about a running statement in app_metadata.
type jobState struct {
	Job   string `json:"job"`
	State string `json:"state"`
	Phase string `json:"phase"`
	Rows  int64  `json:"rows"`
}

// progressBar draws one line on a terminal for statements that take a while; a nil one draws nothing.
type progressBar struct {
	w     io.Writer
	after func(time.Duration, func()) (stop func() bool) // time.AfterFunc

	mu    sync.Mutex
	stop  func() bool // the delay's; nil while no statement runs
	due   bool        // the delay is over
	line  string      // what the server said last
	drawn bool
}

func newProgressBar(w io.Writer) *progressBar {
	return &progressBar{w: w, after: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }}
}

// show takes note of what the server said of the running statement.
func (b *progressBar) show(progress float64, meta []byte) {
	if b == nil {
		return
	}
	var s jobState
	_ = json.Unmarshal(meta, &s) // absent or foreign metadata: the bar alone
	const width = 30
	part := min(max(progress, 0), 1)
	done := int(part * width)
	doing := strings.ToLower(s.State)
	if s.Phase != "" && !strings.EqualFold(s.Phase, s.State) {
		doing += ": " + s.Phase
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line = fmt.Sprintf("[%s%s] %3.0f %% %s", strings.Repeat("#", done), strings.Repeat(".", width-done), 100*part, doing)
	if b.stop == nil {
		b.stop = b.after(barDelay, b.appear)
	}
	if b.due {
		b.drawLocked()
	}
}

// appear draws what was said last: the delay is over.
func (b *progressBar) appear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		b.due = true
		b.drawLocked()
	}
}

func (b *progressBar) drawLocked() {
	b.drawn = true
	fmt.Fprintf(b.w, "\r\x1b[K%s", b.line)
}

// clear ends the statement and takes its line away.
func (b *progressBar) clear() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		b.stop()
	}
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.stop, b.due, b.drawn = nil, false, false
}
