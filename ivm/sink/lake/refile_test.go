package lake

import (
	"slices"
	"testing"
)

func TestWorn(t *testing.T) {
	several := func(n int, f wornFile) (out []wornFile) {
		for i := range n {
			out = append(out, wornFile{f.id + int64(i), f.rows, f.dead})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		files []wornFile
		want  []int64
	}{
		{"none", nil, nil},
		{"less than half dead", []wornFile{{1, 100, 50}}, nil},
		{"more than half dead, the emptiest first", []wornFile{{1, 100, 51}, {2, 100, 90}}, []int64{2, 1}},
		{"nobody lives there", []wornFile{{1, 100, 100}}, nil},
		{"more than one commit moves", []wornFile{{1, 10 * refileRows, 6 * refileRows}}, nil},
		{"as much as one commit moves", []wornFile{{1, 3 * refileRows, 5 * refileRows / 2}, {2, 2 * refileRows, 3 * refileRows / 2}, {3, 100, 60}}, []int64{3, 1}},
		{"many with a few dead rows", several(manyWorn+1, wornFile{1, 10, 1}), ids(1, manyWorn+1)},
		{"not so many", several(manyWorn, wornFile{1, 10, 1}), nil},
	} {
		if got := worn(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

func ids(from int64, n int) (out []int64) {
	for i := range n {
		out = append(out, from+int64(i))
	}
	return out
}
