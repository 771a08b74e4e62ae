package check

import (
	"strings"
	"testing"
)

func TestTheClockIsStopped(t *testing.T) {
	const at = "TIMESTAMPTZ '2026-01-02 03:04:05.000006+00'"
	for query, want := range map[string]string{
		`SELECT k FROM t WHERE ts > now() - INTERVAL 1 HOUR`:     `SELECT k FROM t WHERE ts > $ - INTERVAL 1 HOUR`,
		`ts > NOW () AND d = Today() AND d > current_date`:       `ts > $ AND d = CAST($ AS DATE) AND d > CAST($ AS DATE)`,
		`current_timestamp < get_current_timestamp()`:            `$ < $`,
		`localtimestamp, current_localtimestamp()`:               `CAST($ AS TIMESTAMP), CAST($ AS TIMESTAMP)`,
		`'now()' || "now()" || x.current_date || 'it''s now()'`:  `'now()' || "now()" || x.current_date || 'it''s now()'`,
		`now -- now()` + "\n" + `/* now() */ know() $$ now() $$`: `now -- now()` + "\n" + `/* now() */ know() $$ now() $$`,
		`transaction_timestamp()`:                                `$`,
		`'open now()`:                                            `'open now()`,
		``:                                                       ``,
	} {
		if got, want := atClock(query, 1767323045000006), strings.ReplaceAll(want, "$", at); got != strings.ReplaceAll(want, at+at, "$$") {
			t.Errorf("%s becomes\n%s\nnot\n%s", query, got, want)
		}
		if atClock(query, 0) != query {
			t.Errorf("%s was changed without a clock", query)
		}
	}
}
