package stream

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
)

// An event tells of the first late rows with the source's position and how late they are, and counts those that follow soon.
func TestLateRowsAreAudited(t *testing.T) {
	var told bytes.Buffer
	m := &member{
		c:    &Config{Log: slog.New(slog.NewJSONHandler(&told, nil))},
		view: &catalog.View{Table: catalog.Table{Name: catalog.Name{Schema: "main", Name: "v"}}},
	}
	event := func() map[string]any {
		t.Helper()
		if told.Len() == 0 {
			return nil
		}
		var e map[string]any
		if err := json.Unmarshal(told.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, told.Bytes())
		}
		told.Reset()
		return e
	}
	m.late(dataflow.Lateness{Source: "main.e", Position: 41, Changes: 2, Row: "7 | 2024-01-01 10:01:00", Behind: (4 * time.Minute).Microseconds()})
	e := event()
	for name, want := range map[string]any{
		"audit": true, "view": "main.v", "source": "main.e", "snapshot": 41.0, "changes": 2.0, "row": "7 | 2024-01-01 10:01:00", "behind": float64(4 * time.Minute),
	} {
		if e[name] != want {
			t.Errorf("%s is %v, want %v, of %v", name, e[name], want, e)
		}
	}
	m.audit.told = time.Now().Add(time.Hour) // it is not time yet, however slow this is
	for range 1000 {
		m.late(dataflow.Lateness{Source: "main.e", Position: 42, Changes: 3})
	}
	if e := event(); e != nil {
		t.Errorf("told too soon: %v", e)
	}
	m.audit.told = time.Now().Add(-2 * auditEvery)
	m.late(dataflow.Lateness{Source: "main.e", Position: 43, Changes: 1})
	if e := event(); e["changes"] != 3001.0 || e["snapshot"] != 43.0 {
		t.Errorf("told later: %v", e)
	}
}
