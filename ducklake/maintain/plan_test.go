package maintain

import (
	"slices"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	// Snapshot i was made (10-i) hours ago; 2, 3, 5, 6, 8 are publications.
	var all []aged
	for i := int64(1); i <= 9; i++ {
		all = append(all, aged{id: i, at: ago(time.Duration(10-i) * time.Hour), ours: slices.Contains([]int64{2, 3, 5, 6, 8}, i)})
	}
	base := needs{newest: 10, floor: 10}
	hours := policy{now: now, publications: 90 * time.Minute}
	for _, c := range []struct {
		name  string
		needs needs
		p     policy
		want  []int64
	}{
		{"publications older than the retention", base, hours, []int64{2, 3, 5, 6, 8}},
		{"a longer retention", base, policy{now: now, publications: 4*time.Hour + time.Minute}, []int64{2, 3, 5}},
		{"users' snapshots by policy", base, policy{now: now, publications: 4*time.Hour + time.Minute, user: 7 * time.Hour}, []int64{1, 2, 3, 5}},
		{"users' snapshots never before publications", base, policy{now: now, publications: 6*time.Hour + time.Minute, user: time.Minute}, []int64{1, 2, 3}},
		{"users' snapshots that somebody has not looked at", needs{newest: 10, floor: 10, unread: 3}, policy{now: now, publications: 4*time.Hour + time.Minute, user: time.Minute}, []int64{1, 2, 3, 5}},
		{"somebody follows the changes from 5", needs{newest: 10, floor: 5}, hours, []int64{2, 3}},
		{"exactly 3 is held", needs{newest: 10, floor: 10, exact: map[int64]bool{3: true}}, hours, []int64{2, 5, 6, 8}},
		{"never the newest", needs{newest: 8, floor: 9}, hours, []int64{2, 3, 5, 6}},
		{"a reader began 3.5 hours ago and reads 6", needs{newest: 10, floor: 10, readersSince: ago(210 * time.Minute)}, hours, []int64{2, 3, 5}},
		{"a reader began as 5 was committed and may read 4", needs{newest: 10, floor: 10, readersSince: ago(5 * time.Hour)}, hours, []int64{2, 3}},
		{"a reader is older than everything", needs{newest: 10, floor: 10, readersSince: ago(100 * time.Hour)}, hours, nil},
	} {
		if got := plan(all, c.needs, c.p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
