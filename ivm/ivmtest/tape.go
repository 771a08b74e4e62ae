package ivmtest

import "math/rand/v2"

// tape is the choices of which a random thing was made. Read again it makes the same thing, and a shorter tape, or one of smaller
// numbers, makes a simpler thing: the choice 0 is the simplest everywhere, and behind the end all choices are 0.
type tape struct {
	made   []uint16
	at     int
	random *rand.Rand // nil: only read
}

func newTape(seed, part uint64) *tape { return &tape{random: rand.New(rand.NewPCG(seed, part))} }

func readTape(made []uint16) *tape { return &tape{made: made} }

// n chooses from 0 to k-1.
func (t *tape) n(k int) int {
	if k <= 1 {
		return 0
	}
	if t.random != nil {
		c := t.random.IntN(k)
		t.made = append(t.made, uint16(c))
		return c
	}
	t.at++
	if t.at > len(t.made) {
		return 0
	}
	return int(t.made[t.at-1]) % k
}

// chance is true in p of 100 cases.
func (t *tape) chance(p int) bool { return t.n(100) >= 100-p }

// oneOf chooses; the first is the simplest.
func oneOf[T any](t *tape, of ...T) T { return of[t.n(len(of))] }
