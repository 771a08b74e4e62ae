package metadata

import (
	"context"
	"time"
)

// SetEndWait sets how long the end of a transaction is waited for, and returns what sets it back.
func SetEndWait(d time.Duration) func() {
	was := endWait
	endWait = d
	return func() { endWait = was }
}

// Ending is the context that the end of a transaction would have if it came now.
func Ending() (context.Context, context.CancelFunc) { return ending(context.Background()) }

// SetPulse makes servers be asked at another pace, until the returned function is called.
func SetPulse(every time.Duration) (back func()) {
	was := pulseEvery
	pulseEvery = every
	return func() { pulseEvery = was }
}
