package duck

import (
	"context"
	"testing"
)

// What an error says is often a user's own text. It must not pass for the end of the instance.
func TestTextsDoNotPoison(t *testing.T) {
	c := open(t)
	for _, sql := range []string{
		"SELECT error('database has been invalidated')", "SELECT error('FATAL Error: database has been invalidated')", "SELECT CAST('FATAL Error: database has been invalidated' AS INTEGER)",
		`FROM "database has been invalidated because of a previous fatal error"`, "SELECT error('INTERNAL Error: x')", "SELECT error('')",
	} {
		if _, err := c.Rows(context.Background(), sql); err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	if err := c.db.Poisoned(); err != nil {
		t.Errorf("poisoned by a text: %v", err)
	}
	if _, err := c.Rows(context.Background(), "SELECT 1"); err != nil {
		t.Error(err)
	}
}
