package streamcrash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/integration/process"
)

func number(t *testing.T, env string, otherwise int) int {
	t.Helper()
	s := os.Getenv(env)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Everything is compared after so many kills.
const (
	wholeEvery         = 20
	wholeEveryPostgres = 12
)

func TestEveryLifeGoesOn(t *testing.T) {
	rounds := number(t, "VEGA_STREAM_KILLS", 100)
	if testing.Short() {
		rounds = 10
	}
	k := newKiller(t, wholeEvery)
	k.place.lake = filepath.Join(t.TempDir(), "lake")
	k.place.data, k.place.state = filepath.Join(k.place.lake, "data"), filepath.Join(k.place.lake, "catalog.ducklake.state")
	k.run(rounds, moments)
}

// The same with a PostgreSQL catalog: its server lives on, with what the dead one was about to commit.
func TestEveryLifeGoesOnPostgres(t *testing.T) {
	rounds := number(t, "VEGA_STREAM_KILLS", 24)
	if testing.Short() {
		rounds = 4
	}
	k := newKiller(t, wholeEveryPostgres)
	dir := t.TempDir()
	k.place = place{lake: laketest.PostgresDSN(t), schema: fmt.Sprintf("kills_%d", time.Now().UnixNano()), data: filepath.Join(dir, "data"), state: filepath.Join(dir, "state")}
	k.run(rounds, append(inPostgres, moments...))
}

func newKiller(t *testing.T, whole int) *killer {
	t.Helper()
	seed := uint64(number(t, "VEGA_SEED", 1))
	return &killer{
		t: t, world: newWorld(t, seed), rnd: rand.New(rand.NewPCG(seed, 2)), paused: map[string]bool{}, wholeEvery: whole,
		keeping: []*process.Subscriber{process.NewSubscriber("main.totals"), process.NewSubscriber("main.named")}, kills: map[string]int{},
	}
}

// place is where the lake lies.
type place struct {
	lake        string // of --lake
	schema      string // of a PostgreSQL catalog; "" is an embedded one
	data, state string
}

func (k *killer) start(args ...string) *process.Server {
	k.t.Helper()
	if k.place.schema != "" {
		args = append(args, "--metadata-schema", k.place.schema, "--data-path", k.place.data, "--state-dir", k.place.state, "--server-id", "killed")
	}
	return process.Start(k.t, process.Options{Lake: k.place.lake, Args: args})
}

func (k *killer) run(rounds int, moments []moment) {
	t := k.t
	for round := range rounds {
		s := k.start("--maintenance-interval", "2s")
		c := s.Connect(t)
		if round == 0 {
			for _, sql := range sources {
				c.Must(t, sql)
			}
			for _, v := range views {
				c.Must(t, v.create())
				if v.name == "totals" {
					fresh(t, c) // a traditional view reads it
				}
			}
			fresh(t, c)
		}
		if round > 0 && round%k.wholeEvery == 0 {
			k.whole(s, c)
		}
		k.life(s, c, moments[round%len(moments)])
		if t.Failed() {
			t.Fatalf("life %d, moment %s", round, moments[round%len(moments)].name)
		}
	}
	s := k.start()
	k.whole(s, s.Connect(t))
	t.Logf("%d kills %v, %d times without the state, %d writes committed, %d and %d publications applied, %d by subscribers that began anew",
		rounds, k.kills, k.stateless, k.world.writes, k.keeping[0].Publications, k.keeping[1].Publications, k.anew)
}

// killer is the loop's memory.
type killer struct {
	t       *testing.T
	place   place
	world   *world
	rnd     *rand.Rand
	paused  map[string]bool
	keeping []*process.Subscriber // go on where they were
	kills   map[string]int

	wholeEvery int
	afterwards func() // is to be done when the server is dead
	stateless  int
	anew       int
	extra      int
}

func (k *killer) state() string { return k.place.state }

// moment is when the server is killed: do leads there.
type moment struct {
	name string
	do   func(k *killer, c *process.Client, send func(sql string))
}

// after waits for a moment that nothing marks.
func (k *killer) after(most time.Duration) { time.Sleep(time.Duration(k.rnd.Int64N(int64(most)))) }

// at waits for what the server does to files while do runs.
func (k *killer) at(dir string, match func(fsnotify.Event) bool, do func()) {
	w := newWatch(k.t, dir, match)
	defer w.close()
	do()
	w.wait(3 * time.Second)
}

// committing waits for the next commit while do runs: its first bytes in an embedded catalog, its end in PostgreSQL.
func (k *killer) committing(do func()) {
	if k.place.schema != "" {
		k.committed(do)
		return
	}
	k.at(k.place.lake, touched(".wal"), do)
}

// streaming is one of the streaming views.
func (k *killer) streaming() string {
	for {
		if v := views[k.rnd.IntN(len(views))]; !v.traditional {
			return v.name
		}
	}
}

const alter = "ALTER STREAMING MATERIALIZED VIEW "

var moments = []moment{
	{"random", func(k *killer, _ *process.Client, _ func(string)) { k.after(time.Second) }},
	{"recovery", func(k *killer, _ *process.Client, _ func(string)) { k.after(200 * time.Millisecond) }},
	{"commit", func(k *killer, _ *process.Client, _ func(string)) {
		k.after(500 * time.Millisecond)
		k.committing(func() {})
	}},
	{"checkpoint", func(k *killer, _ *process.Client, _ func(string)) {
		k.after(300 * time.Millisecond)
		k.at(k.state(), touched(), func() {})
	}},
	{"staging", func(k *killer, _ *process.Client, send func(string)) {
		k.at(k.place.data, touched(".parquet"), func() { send("") })
	}},
	{"rebuild", func(k *killer, _ *process.Client, send func(string)) {
		k.at(k.state(), made, func() { send(alter + k.streaming() + " REBUILD") })
		k.after(300 * time.Millisecond)
	}},
	{"rebuilt", func(k *killer, _ *process.Client, send func(string)) { // the older generation's state goes when the new one is published
		k.at(k.state(), gone, func() { send(alter + "totals REBUILD") })
	}},
	{"backfill", func(k *killer, _ *process.Client, send func(string)) {
		k.extra++
		k.at(k.state(), made, func() {
			send(fmt.Sprintf("CREATE STREAMING MATERIALIZED VIEW extra_%d WITH (checkpoint_interval = '200ms') AS %s", k.extra, weighed))
		})
		k.after(300 * time.Millisecond)
	}},
	{"create", func(k *killer, _ *process.Client, send func(string)) {
		k.extra++
		k.committing(func() {
			send(fmt.Sprintf("CREATE STREAMING MATERIALIZED VIEW extra_%d AS %s", k.extra, weighed))
		})
	}},
	{"rescale", func(k *killer, _ *process.Client, send func(string)) {
		send(fmt.Sprintf("%s%s SET (parallelism = %d)", alter, k.streaming(), 1+k.rnd.IntN(4)))
		k.after(300 * time.Millisecond)
	}},
	{"rescaled", func(k *killer, _ *process.Client, send func(string)) {
		k.at(k.state(), made, func() { send(fmt.Sprintf("%sweighed SET (parallelism = %d)", alter, 1+k.rnd.IntN(4))) })
	}},
	{"pause", func(k *killer, _ *process.Client, send func(string)) {
		v := k.streaming()
		k.paused[v] = true
		send(alter + v + " PAUSE")
		k.after(200 * time.Millisecond)
	}},
	{"paused", func(k *killer, _ *process.Client, send func(string)) {
		v := k.streaming()
		k.paused[v] = true
		k.at(k.state(), touched(), func() { send(alter + v + " PAUSE") })
	}},
	{"resume", func(k *killer, _ *process.Client, send func(string)) {
		for v := range k.paused {
			send(alter + v + " RESUME")
		}
		k.after(200 * time.Millisecond)
	}},
	{"restart", func(k *killer, _ *process.Client, send func(string)) {
		send(alter + k.streaming() + " RESTART")
		k.after(200 * time.Millisecond)
	}},
	{"drop", func(k *killer, _ *process.Client, send func(string)) {
		k.committing(func() { send(fmt.Sprintf("DROP STREAMING MATERIALIZED VIEW IF EXISTS extra_%d", k.extra)) })
	}},
}

// life has a writer and subscribers work on the server, and kills it at the moment.
func (k *killer) life(s *process.Server, c *process.Client, m moment) {
	t := k.t
	k.world.settle(c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var killed atomic.Bool
	heavy, committed := make(chan struct{}, 1), make(chan struct{}, 64)
	writer := s.Connect(t)
	wg.Go(func() {
		for !killed.Load() {
			op := k.world.operation()
			select {
			case <-heavy:
				op = k.world.heavy()
			default:
			}
			if err := k.world.write(ctx, writer, op); err != nil {
				if !killed.Load() {
					t.Error(err)
				}
				close(committed)
				return
			}
			select {
			case committed <- struct{}{}:
			default: // enough to wait for
			}
		}
	})
	fromNothing := process.NewSubscriber("main." + []string{"joined", "totals", "spread", "whole", "over", "named"}[k.rnd.IntN(6)])
	for _, sub := range append(slices.Clone(k.keeping), fromNothing) {
		conn, beside := s.Connect(t), s.Connect(t)
		wg.Go(func() {
			if err := follow(ctx, sub, conn, beside, &killed); err != nil && !killed.Load() {
				t.Error(err)
			}
		})
	}
	send := func(sql string) {
		if sql == "" {
			heavy <- struct{}{}
			return
		}
		conn := s.Connect(t)
		wg.Go(func() {
			if _, err := conn.Query(ctx, sql); err != nil && !killed.Load() {
				t.Errorf("%s: %v", sql, err)
			}
		})
	}
	if m.name != "recovery" {
		for range k.rnd.IntN(6) {
			<-committed
		}
	}
	m.do(k, c, send)
	killed.Store(true)
	s.Kill()
	cancel()
	wg.Wait()
	if k.afterwards != nil {
		k.afterwards()
		k.afterwards = nil
	}
	k.kills[m.name]++
	k.anew += fromNothing.Publications
	if k.rnd.IntN(8) == 0 {
		k.stateless++
		if err := os.RemoveAll(k.state()); err != nil {
			t.Fatal(err)
		}
	}
}

// follow applies a view's changes and compares them with the view now and then.
func follow(ctx context.Context, sub *process.Subscriber, c, beside *process.Client, killed *atomic.Bool) error {
	if err := sub.Subscribe(ctx, c); err != nil {
		return fmt.Errorf("subscribe to %s as of %d: %w", sub.View, sub.At, err)
	}
	for {
		was := sub.Publications
		if err := sub.Next(); err != nil {
			return fmt.Errorf("%s at %d: %w", sub.View, sub.At, err)
		}
		if sub.Publications == was || was%4 != 0 || killed.Load() {
			continue
		}
		if d, err := sub.Differs(ctx, beside); err != nil || d != "" {
			return fmt.Errorf("%s at %d: %w %s", sub.View, sub.At, err, d)
		}
	}
}

// whole brings everything to rest and compares it.
func (k *killer) whole(s *process.Server, c *process.Client) {
	t := k.t
	t.Helper()
	k.world.settle(c)
	for v := range k.paused {
		c.Must(t, alter+v+" RESUME")
	}
	clear(k.paused)
	var others []string
	for _, v := range views {
		if !v.traditional && v.name != "over" {
			others = append(others, v.name)
		}
	}
	fresh(t, c, others...)
	process.Until(t, "the traditional view is fresh", func() bool {
		_, err := c.Query(t.Context(), "REFRESH MATERIALIZED VIEW whole")
		if process.Code(err) == "REFRESH_CONFLICT" {
			return false // with the one by the clock
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}, func() any { return "refreshed at the same time" })
	now := fresh(t, c)
	for _, v := range views {
		if d := k.world.same(c, v.name, "FROM "+v.name); d != "" {
			t.Error(d)
		}
	}
	for name := range now {
		if strings.HasPrefix(name, "extra_") {
			if d := k.world.same(c, name, weighed); d != "" {
				t.Error(d)
			}
			c.Must(t, "DROP STREAMING MATERIALIZED VIEW "+name)
		}
	}
	if out, err := process.Run(t, "check", s.Flight); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
	for _, sub := range k.keeping {
		at, err := strconv.ParseInt(now[strings.TrimPrefix(sub.View, "main.")].version, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Subscribe(t.Context(), s.Connect(t), "progress = true", fmt.Sprintf("up_to = %d", max(at, sub.At))); err != nil {
			t.Fatal(err)
		}
		if err := sub.Until(at); err != nil {
			t.Fatal(err)
		}
		sub.Compare(t, c)
	}
	t.Logf("all is right after %d kills and %d writes", sum(k.kills), k.world.writes)
}

func sum(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}
