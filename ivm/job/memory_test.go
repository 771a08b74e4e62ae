package job

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// memory is a Store without a database. The real one runs the same compare-and-swap in SQL.
type memory struct {
	mu    sync.Mutex
	rows  map[string]Job
	order []string
	fail  func(op string) error
}

func newMemory() *memory { return &memory{rows: map[string]Job{}} }

func (m *memory) failing(op string) error {
	if m.fail != nil {
		return m.fail(op)
	}
	return nil
}

func (m *memory) Insert(_ context.Context, j Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("insert"); err != nil {
		return err
	}
	m.rows[j.ID] = j
	m.order = append(m.order, j.ID)
	return nil
}

func (m *memory) Update(_ context.Context, j Job) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("update"); err != nil {
		return false, err
	}
	if m.rows[j.ID].Version != j.Version {
		return false, nil
	}
	j.Version++
	m.rows[j.ID] = j
	return true, nil
}

func (m *memory) ByID(_ context.Context, id string) (Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, ok := m.rows[id]
	if !ok {
		return Job{}, fault.JobNotFound.Newf("there is no job %q", id)
	}
	return j, nil
}

func (m *memory) List(_ context.Context, q Query) ([]Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Job
	for _, id := range slices.Backward(m.order) {
		j := m.rows[id]
		if q.Subject != "" && j.Subject != q.Subject || q.ServerID != "" && j.ServerID != q.ServerID || q.Unfinished && j.State.Ended() {
			continue
		}
		out = append(out, j)
	}
	return out, nil
}

func (m *memory) Prune(_ context.Context, keep int, before time.Time) (int64, error) { return 0, nil }
