package flightsql

import "testing"

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		want          bool
	}{
		{"orders", "orders", true},
		{"orders", "ORDERS", true},
		{"orders", "order", false},
		{"orders", "%", true},
		{"", "%", true},
		{"", "", true},
		{"a", "", false},
		{"orders", "o%s", true},
		{"orders", "o%r_", true},
		{"orders", "%e%e%", false},
		{"my_table", "my_table", true},
		{"my1table", "my_table", true},
		{"my1table", `my\_table`, false},
		{"my_table", `my\_table`, true},
		{"100%", `100\%`, true},
		{"100x", `100\%`, false},
		{`back\slash`, `back\\slash`, true},
		{"aXbXc", "a%x%C", true},
		{"größe", "gr__e", true},
		{"größe", "gr_e", false},
		{"é", "_", true},
		{`end\`, `end\`, true},
		{"aab", "%ab", true},
		{"abcabd", "%abd", true},
	} {
		if got := (pattern{&c.pattern}).matches(c.name); got != c.want {
			t.Errorf("%q like %q = %v, want %v", c.name, c.pattern, got, c.want)
		}
	}
	if !(pattern{}).matches("anything") {
		t.Error("no pattern does not match")
	}
}
