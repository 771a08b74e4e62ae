package auth

import (
	"fmt"
	"testing"
)

// costly is a password hash text of a cost; nobody derives it.
func costly(memory, time uint32, seed byte) string {
	h := passwordHash{memory: memory, time: time, threads: 1, salt: make([]byte, saltLen), sum: make([]byte, sumLen)}
	h.sum[0] = seed
	return h.String()
}

type cost struct{ memory, time uint32 }

func (h *passwordHash) cost() cost { return cost{h.memory, h.time} }

// Unknown names take the times of known ones, in about the same shares, and each name always the same one.
func TestUnknownNamesCostWhatKnownOnesDo(t *testing.T) {
	file := func(extra string) *directory {
		text := "users:\n"
		for i := range byte(4) {
			memory := uint32(64)
			if i == 0 {
				memory = 4096
			}
			text += fmt.Sprintf("  u%d: {password: \"%s\"}\n", i, costly(memory, 2, i))
		}
		d, err := parseDirectory([]byte(text + extra))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := file("  robot: {}\n")
	counts := map[cost]int{}
	const names = 4000
	for i := range names {
		counts[d.decoy(fmt.Sprint("nobody", i)).cost()]++
	}
	dear, cheap := counts[cost{4096, 2}], counts[cost{64, 2}]
	if dear+cheap != names || dear < names/5 || dear > names/3 {
		t.Errorf("a quarter of the users is dear; of the unknown names %d of %d are: %v", dear, names, counts)
	}
	again, more := file("  robot: {}\n"), file("  late: {password: \""+costly(64, 2, 9)+"\"}\n")
	for i := range 200 {
		name := fmt.Sprint("nobody", i)
		was := d.decoy(name).cost()
		if again.decoy(name).cost() != was {
			t.Fatalf("%s changed its cost with the process", name)
		}
		if now := more.decoy(name).cost(); now != was && now != (cost{64, 2}) {
			t.Fatalf("%s changed its cost to another one than the new user's", name)
		}
	}
	if d.decoy("robot").matches("") {
		t.Error("a decoy matches")
	}
	none, err := parseDirectory([]byte("users: {robot: {}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := none.decoy("x").cost(); got != (cost{defaultMemory, defaultTime}) {
		t.Errorf("without passwords it costs %v", got)
	}
}
