package ivmtest

import (
	"errors"
	"testing"
)

// The generator itself: DuckDB binds what it draws, and equal seeds draw the same.
func TestGenerator(t *testing.T) {
	l := newRecompute(t)
	refused := 0
	const cases = 60
	for seed := range uint64(cases) {
		text := NewCase(seed).Text()
		if again := NewCase(seed).Text(); again.Script("x") != text.Script("x") {
			t.Fatalf("seed %d draws two things", seed)
		}
		err := text.Run(t.Context(), l, seed)
		var why *Refused
		if errors.As(err, &why) {
			refused++
			t.Log(why)
			continue
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text.Script("x"))
		}
	}
	t.Logf("%d of %d refused", refused, cases)
}
