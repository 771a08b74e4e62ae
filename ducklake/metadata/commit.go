package metadata

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Author is what our servers write as the author of lake commits.
const Author = "vega"

// CommitInfo is what our servers put into a snapshot's commit_extra_info: it names the commit, so that a COMMIT whose
// answer was lost can be looked up, and tells our commits from foreign ones.
type CommitInfo struct {
	ID     string `json:"vega_commit"`
	Kind   string `json:"kind,omitempty"`   // "write" for users' statements, "publish" for native commits, "maintain"
	Server string `json:"server,omitempty"` // the server's id
	// Members are the further commit ids of a group that shares this snapshot.
	Members []string `json:"members,omitempty"`
}

// Has reports whether the commit is, or has among its members, the one with the id.
func (c CommitInfo) Has(id string) bool { return c.ID == id || slices.Contains(c.Members, id) }

// The kinds of our commits.
const (
	CommitWrite    = "write"
	CommitPublish  = "publish"
	CommitMaintain = "maintain"
)

// ExtraInfo is the text for commit_extra_info.
func (c CommitInfo) ExtraInfo() string {
	text, err := json.Marshal(c)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(text)
}

// ParseCommitInfo reads a commit_extra_info; ok is false when it is not ours.
func ParseCommitInfo(extraInfo string) (c CommitInfo, ok bool) {
	if !strings.HasPrefix(extraInfo, `{"vega_commit":`) {
		return CommitInfo{}, false
	}
	if json.Unmarshal([]byte(extraInfo), &c) != nil || c.ID == "" {
		return CommitInfo{}, false
	}
	return c, true
}

// LookupCommit finds the snapshot newer than after that carries the commit id. It looks at snapshots only, so it must
// run before the snapshot can have expired, which the grace period of expiry guarantees.
func LookupCommit(ctx context.Context, tx Tx, commitID string, after int64) (snapshot int64, found bool, err error) {
	rows, err := tx.Query(ctx, `SELECT snapshot_id, commit_extra_info FROM {M}ducklake_snapshot_changes
		WHERE snapshot_id > $1 AND commit_extra_info IS NOT NULL ORDER BY snapshot_id`, after)
	if err != nil {
		return 0, false, err
	}
	for _, v := range rows {
		var r Row
		r.Take(v)
		id, extra := r.Int(), r.Text()
		if r.Err() != nil {
			return 0, false, r.Err()
		}
		if info, ok := ParseCommitInfo(extra); ok && info.Has(commitID) {
			return id, true, nil
		}
	}
	return 0, false, nil
}
