package ddl

import (
	"strings"
	"unicode"
)

// heads are how statements begin that somebody may have meant.
var heads = strings.Split(`CREATE MATERIALIZED VIEW
CREATE OR REPLACE MATERIALIZED VIEW
CREATE STREAMING MATERIALIZED VIEW
CREATE OR REPLACE STREAMING MATERIALIZED VIEW
REFRESH MATERIALIZED VIEW
ALTER MATERIALIZED VIEW
ALTER STREAMING MATERIALIZED VIEW
DROP MATERIALIZED VIEW
DROP STREAMING MATERIALIZED VIEW
SHOW MATERIALIZED VIEWS
SHOW MATERIALIZED VIEW
SHOW STREAMING MATERIALIZED VIEWS
SHOW STREAMING MATERIALIZED VIEW
SHOW CREATE MATERIALIZED VIEW
SHOW CREATE STREAMING MATERIALIZED VIEW
SHOW JOBS
SHOW JOB
CANCEL JOB
SUBSCRIBE TO
EXPLAIN STREAMING
EXPLAIN STREAMING ANALYZE
SELECT
INSERT INTO
UPDATE
DELETE FROM
MERGE INTO
CREATE TABLE
CREATE OR REPLACE TABLE
CREATE VIEW
CREATE SCHEMA
DROP TABLE
DROP VIEW
ALTER TABLE
BEGIN
COMMIT
ROLLBACK
DESCRIBE
EXPLAIN
COMMENT ON`, "\n")

// left out by people who know other systems.
const optionalWord = " MATERIALIZED"

// Nearest is how the statement begins that a text, which is none, looks like; empty when it looks like none, or begins so already.
func Nearest(text string) string {
	words := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	best, found, length, right := 4, "", 0, 0
	for _, head := range heads {
		for cost, form := range []string{head, strings.Replace(head, optionalWord, "", 1)} {
			wanted := strings.Fields(form)
			if cost > 0 && form == head || len(words) < len(wanted) {
				continue
			}
			for i, w := range wanted {
				cost += slips(words[i], w)
			}
			switch {
			case cost == 0:
				right = max(right, len(wanted))
			case cost < best || cost == best && len(wanted) > length:
				best, found, length = cost, head, len(wanted)
			}
		}
	}
	if length <= right {
		return ""
	}
	return found
}

// slips is how many letters were left out, added, taken for others or for their neighbours in a word; many when it is another word.
func slips(typed, meant string) int {
	const many = 9
	most := min(2, len(meant)/3)
	if d := len(typed) - len(meant); typed == meant {
		return 0
	} else if d > most || -d > most {
		return many
	}
	before, row := make([]int, len(meant)+1), make([]int, len(meant)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(typed) {
		next := make([]int, len(meant)+1)
		next[0] = i + 1
		for j := range len(meant) {
			other := 1
			if typed[i] == meant[j] {
				other = 0
			}
			next[j+1] = min(row[j]+other, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && typed[i] == meant[j-1] && typed[i-1] == meant[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	if row[len(meant)] > most {
		return many
	}
	return row[len(meant)]
}
