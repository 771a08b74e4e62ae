package plugin

import (
	"context"
	"os"
	"time"
)

// lookForParent is how often it is looked whether the host still lives.
const lookForParent = 500 * time.Millisecond

// watchParent closes gone when this process has another parent than at first: the one that launched it has ended. It is for hosts that launch
// without this package's tie, and does not notice one that is gone before it looks for the first time.
func watchParent(ctx context.Context, gone chan<- struct{}) {
	parent := os.Getppid()
	tick := time.NewTicker(lookForParent)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if os.Getppid() != parent {
			close(gone)
			return
		}
	}
}
