package ddl

import (
	"strings"
	"time"
	_ "time/tzdata" // which zones exist does not depend on the host

	"github.com/robfig/cron/v3"
)

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// checkCron says why a text is no schedule.
func checkCron(text string) string {
	switch t := strings.TrimSpace(text); {
	case t == "":
		return "is empty"
	case strings.Contains(t, "="):
		return "names a time zone: use refresh_timezone"
	case strings.HasPrefix(strings.ToLower(t), "@every"):
		return "is an interval: use refresh_interval"
	}
	s, err := cronParser.Parse(strings.TrimSpace(text))
	if err != nil {
		return "is not a cron expression (" + strings.TrimPrefix(err.Error(), "cron: ") + ")"
	}
	if s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return "is never due"
	}
	return ""
}

// checkZone says why a text names no time zone.
func checkZone(text string) string {
	// LoadLocation takes "" and "Local" for the host's own zone.
	if text == "" || text == "Local" {
		return "is not a time zone"
	}
	if _, err := time.LoadLocation(text); err != nil {
		return "is not a time zone"
	}
	return ""
}
