package stream_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// crowd is how many views there are.
const crowd = 100

// epochs are the steps of all views.
func (l *lab) epochs() (n int64) {
	l.t.Helper()
	for name, v := range l.views {
		st, ok := l.run.Status(v.UUID)
		if !ok || st.Figures == nil {
			l.t.Fatalf("view %s does not run", name)
		}
		n += st.Figures.Epochs.Load()
	}
	return n
}

// heap is how much of it is in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// busy is for how long this process has had a processor.
func (l *lab) busy() time.Duration {
	l.t.Helper()
	var u syscall.Rusage
	l.must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestQuietViewsCostNothing(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i FROM range(1000) r(i)", "CREATE TABLE other (id BIGINT)")
	before, free := runtime.NumGoroutine(), heap()
	for i := range crowd {
		l.view(fmt.Sprintf("v%d", i), fmt.Sprintf("SELECT v %% 10 AS k, count(*) AS n, sum(v) AS s FROM o WHERE id %% %d = 0 AND v >= 0 GROUP BY 1", i+1))
	}
	l.check()
	goroutines := runtime.NumGoroutine() - before
	t.Logf("%d goroutines for %d views", goroutines, crowd)
	if goroutines > 12*crowd {
		t.Errorf("%d views have %d goroutines", crowd, goroutines)
	}

	if used := heap() - free; used > 4<<20*crowd {
		t.Errorf("%d views have %d MiB of the heap", crowd, used>>20)
	} else {
		t.Logf("%d MiB of the heap for %d views", used>>20, crowd)
	}

	// While nothing happens they do next to nothing. What they do is counted in time of processors, however busy those are otherwise.
	head, epochs := l.head(), l.epochs()
	const quiet = 3 * time.Second
	busy := l.busy()
	<-time.After(quiet)
	busy = l.busy() - busy
	t.Logf("%s of a processor in %s", busy, quiet)
	if busy > quiet/4 {
		t.Errorf("%d quiet views have taken %s of a processor in %s", crowd, busy, quiet)
	}
	if l.head() != head || l.epochs() != epochs {
		t.Errorf("they have made %d snapshots and %d steps of nothing", l.head()-head, l.epochs()-epochs)
	}

	// What others do is none of their concern.
	head, epochs = l.head(), l.epochs()
	for i := range 5 {
		l.exec(fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
	}
	l.settle()
	if now := l.head(); now != head+5 {
		t.Errorf("5 commits that concern no view have made %d snapshots", now-head)
	}
	if now := l.epochs(); now != epochs {
		t.Errorf("5 commits that concern no view have made %d steps", now-epochs)
	}

	// What does not change their results is looked at, and makes no snapshot.
	head = l.head()
	l.exec("INSERT INTO o SELECT i, -1 FROM range(50) r(i)", "DELETE FROM o WHERE v < 0")
	l.settle()
	if now := l.head(); now != head+2 {
		t.Errorf("2 commits that change no result have made %d snapshots", now-head)
	}

	// What changes all of them makes few.
	head = l.head()
	const commits = 10
	for i := range commits {
		l.exec(fmt.Sprintf("INSERT INTO o VALUES (0, %d)", i))
		l.settle()
	}
	made := l.head() - head - commits
	t.Logf("%d commits that change %d views have made %d publications", commits, crowd, made)
	if made > 20*commits {
		t.Errorf("%d commits that change %d views have made %d publications", commits, crowd, made)
	}
	l.check()
}
