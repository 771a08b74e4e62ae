package stream

import (
	"encoding/json"
	"fmt"

	"github.com/vegadb/vega-flight/ivm/catalog"
)

// point is what a checkpoint says of itself.
type point struct {
	Generation int64 `json:"generation"` // that the state is of
	Frontier   int64 `json:"frontier"`
	Clock      int64 `json:"clock"`     // µs since 1970 UTC
	Published  int64 `json:"published"` // lake snapshot in which what it reads shows its content at the frontier
	Shown      int64 `json:"shown"`     // lake snapshot of the view's own publication
	Epoch      int64 `json:"epoch"`     // of the publication that the state is acknowledged by
	After      int64 `json:"after,omitempty"`
	Result     Mark  `json:"result"`
}

func (p point) encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("stream: a point must encode: %v", err))
	}
	return b
}

// decodePoint reads what a checkpoint says; ok is false when there is no checkpoint.
func decodePoint(b []byte) (p point, ok bool, err error) {
	if len(b) == 0 {
		return point{}, false, nil
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return point{}, false, fmt.Errorf("stream: the checkpoint's frontier %q: %w", b, err)
	}
	return p, true, nil
}

// Beginning is how a member comes into being.
type Beginning int

// The beginnings.
const (
	First  Beginning = iota // nothing of this generation was ever published: content from the sources, published as it is
	Again                   // the state is of no use: content from the sources, and the difference to the table is published
	Resume                  // from the checkpoint, over what was published since, to where the lake is
)

// Begin decides how a member of the wanted generation begins, from what is published and what the newest checkpoint says.
func Begin(wanted int64, now catalog.Published, p point, there bool) (Beginning, string) {
	switch {
	case now.Generation < wanted:
		return First, ""
	case !there:
		return Again, "there is no checkpoint"
	case p.Generation != wanted:
		return Again, fmt.Sprintf("the checkpoint is of generation %d", p.Generation)
	case p.Epoch > now.Epoch:
		return Again, fmt.Sprintf("the checkpoint is of publication %d and the catalog of %d: the catalog was restored", p.Epoch, now.Epoch)
	case p.Epoch == now.Epoch && p.Shown != now.Snapshot:
		return Again, fmt.Sprintf("publication %d is lake snapshot %d and the checkpoint knows it as %d: the catalog was restored", now.Epoch, now.Snapshot, p.Shown)
	}
	return Resume, ""
}
