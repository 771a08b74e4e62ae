package plan

import (
	"strconv"
	"time"

	"github.com/vegadb/vega-flight/ivm/row"
)

// readable is a date, time or instant for people.
func readable(k row.Kind, v int64) string {
	var t time.Time
	layout := "'2006-01-02 15:04:05.999999999'"
	switch k {
	case row.Date:
		if v > 1<<24 || v < -1<<24 {
			return strconv.FormatInt(v, 10)
		}
		return time.Unix(v*86400, 0).UTC().Format("'2006-01-02'")
	case row.TimestampS:
		t = time.Unix(v, 0)
	case row.TimestampMS:
		t = time.UnixMilli(v)
	case row.Timestamp, row.TimestampTZ:
		t = time.UnixMicro(v)
	case row.TimestampNS:
		t = time.Unix(0, v)
	case row.Time:
		t, layout = time.UnixMicro(v), "'15:04:05.999999'"
	default:
		return strconv.FormatInt(v, 10)
	}
	if k == row.TimestampTZ {
		layout = "'2006-01-02 15:04:05.999999Z'"
	}
	return t.UTC().Format(layout)
}
