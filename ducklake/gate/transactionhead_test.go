package gate

import (
	"testing"

	"github.com/vegadb/vega-flight/fault"
)

func TestTransactionHeads(t *testing.T) {
	for sql, want := range map[string]Kind{
		"BEGIN": Begin, "begin transaction": Begin, "BEGIN WORK": Begin, "START TRANSACTION": Begin, "BEGIN TRANSACTION READ WRITE": Begin,
		"COMMIT": Commit, "COMMIT WORK": Commit, "END TRANSACTION": Commit, "ROLLBACK": Rollback, "ABORT": Rollback, "ROLLBACK TRANSACTION": Rollback,
	} {
		toks, _, err := scan(sql)
		if err != nil {
			t.Fatal(err)
		}
		st, err := read(toks, len(sql))
		if err != nil || st.kind != want {
			t.Errorf("%s is %v, %v", sql, st, err)
		}
	}
	for sql, want := range map[string]*fault.Code{
		"ROLLBACK TO": fault.SyntaxError, "ROLLBACK TO SAVEPOINT x": fault.SyntaxError, "ROLLBACK AND CHAIN": fault.SyntaxError, "COMMIT AND CHAIN": fault.SyntaxError,
		"COMMIT PREPARED 'x'": fault.SyntaxError, "BEGIN ISOLATION LEVEL SERIALIZABLE": fault.SyntaxError, "END 5": fault.SyntaxError, "BEGIN WORK TRANSACTION": fault.SyntaxError,
		"BEGIN READ ONLY": fault.NotYetSupported, "BEGIN TRANSACTION READ ONLY": fault.NotYetSupported,
	} {
		toks, _, err := scan(sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(toks, len(sql)); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
