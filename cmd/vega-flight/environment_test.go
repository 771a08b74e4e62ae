package main

import "testing"

func TestMisspeltVariablesAreNamedWithTheNearest(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"PATH=/bin", "VEGA_FLIGHT_LAKE=x", "VEGA_EXTENSION_DIR=x", "VEGA_FLIGHT_CONFIG=", "VEGA_FLIGHT_PASSWORD=p", "VEGA_PYTHON=python3", "VEGA_KILLS=3"}, ""},
		{[]string{"VEGA_FLIGHT_JOB_WORKER=4"}, "environment variables that nothing reads: VEGA_FLIGHT_JOB_WORKER (the nearest is VEGA_FLIGHT_JOB_WORKERS)"},
		{[]string{"VEGA_LISTEN=:1", "vega_flight_lake=x", "VEGA_FLIGHT_PASSWRD=secret"},
			"environment variables that nothing reads: VEGA_FLIGHT_PASSWRD (the nearest is VEGA_FLIGHT_PASSWORD), VEGA_LISTEN (the nearest is VEGA_FLIGHT_LISTEN), " +
				"vega_flight_lake (the nearest is VEGA_FLIGHT_LAKE)"},
	} {
		if got := misspelt(c.environ); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.environ, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"threads", "thread", 1}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
