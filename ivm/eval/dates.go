package eval

import (
	"math"

	"github.com/vegadb/vega-flight/ivm/row"
)

// civil is the date of a day since 1970, of the calendar that has always been Gregorian.
func civil(days int64) (year, month, day int64) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// daysOf is the day since 1970 of a date.
func daysOf(year, month, day int64) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	mp := (month + 9) % 12
	doy := (153*mp+2)/5 + day - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func monthDays(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// moment takes a DATE or TIMESTAMP apart; false for infinities and what is near the ends.
func moment(k row.Kind, x uint64) (days, micros int64, ok bool) {
	t := int64(x)
	if k == row.Date {
		return t, 0, t > -farDays && t < farDays
	}
	days = floorDiv(t, dayMicros)
	return days, t - days*dayMicros, t < farInstants && t > -farInstants
}

// datePart is a part of a DATE or TIMESTAMP as a BIGINT; nil for one without a path.
func datePart(part string, k row.Kind) converter {
	var f func(days, micros int64) int64
	switch part {
	case "year", "yr", "y", "years", "yrs":
		f = func(d, _ int64) int64 { y, _, _ := civil(d); return y }
	case "month", "mon", "months", "mons":
		f = func(d, _ int64) int64 { _, m, _ := civil(d); return m }
	case "day", "days", "d", "dayofmonth":
		f = func(d, _ int64) int64 { _, _, x := civil(d); return x }
	case "quarter", "quarters":
		f = func(d, _ int64) int64 { _, m, _ := civil(d); return (m-1)/3 + 1 }
	case "dayofweek", "weekday", "dow":
		f = func(d, _ int64) int64 { return (d%7 + 11) % 7 }
	case "isodow":
		f = func(d, _ int64) int64 { return (d%7+10)%7 + 1 }
	case "dayofyear", "doy":
		f = func(d, _ int64) int64 { y, _, _ := civil(d); return d - daysOf(y, 1, 1) + 1 }
	case "hour", "hours", "h", "hr", "hrs":
		f = func(_, t int64) int64 { return t / 3600_000_000 }
	case "minute", "minutes", "min", "mins", "m":
		f = func(_, t int64) int64 { return t / 60_000_000 % 60 }
	case "second", "seconds", "sec", "secs", "s":
		f = func(_, t int64) int64 { return t / 1_000_000 % 60 }
	case "millisecond", "milliseconds", "ms":
		f = func(_, t int64) int64 { return t % 60_000_000 / 1000 }
	case "microsecond", "microseconds", "us":
		f = func(_, t int64) int64 { return t % 60_000_000 }
	default:
		return nil
	}
	return each(func(x uint64) (uint64, bool) {
		days, micros, ok := moment(k, x)
		return uint64(f(days, micros)), ok
	})
}

// dateTrunc is date_trunc of a DATE or TIMESTAMP to a TIMESTAMP or DATE.
func dateTrunc(part string, from, to row.Kind) converter {
	var f func(days, micros int64) (int64, int64)
	clock := func(unit int64) func(days, micros int64) (int64, int64) {
		return func(d, t int64) (int64, int64) { return d, t - t%unit }
	}
	months := func(n int64) func(days, micros int64) (int64, int64) {
		return func(d, _ int64) (int64, int64) {
			y, m, _ := civil(d)
			return daysOf(y, (m-1)/n*n+1, 1), 0
		}
	}
	switch part {
	case "year", "years", "yr", "yrs", "y":
		f = months(12)
	case "quarter", "quarters":
		f = months(3)
	case "month", "months", "mon", "mons":
		f = months(1)
	case "week", "weeks", "w":
		f = func(d, _ int64) (int64, int64) { return d - (d%7+10)%7, 0 }
	case "day", "days", "d", "dayofmonth":
		f = func(d, _ int64) (int64, int64) { return d, 0 }
	case "hour", "hours", "h", "hr", "hrs":
		f = clock(3600_000_000)
	case "minute", "minutes", "min", "mins", "m":
		f = clock(60_000_000)
	case "second", "seconds", "sec", "secs", "s":
		f = clock(1_000_000)
	default:
		return nil
	}
	return each(func(x uint64) (uint64, bool) {
		days, micros, ok := moment(from, x)
		days, micros = f(days, micros)
		if to == row.Date {
			return uint64(days), ok
		}
		return uint64(days*dayMicros + micros), ok && days > -farDays
	})
}

// dateAndDays is DATE + INTEGER and DATE - INTEGER.
func dateAndDays(minus bool) kernel {
	return func(dst, a, b *vec, n int, esc *mask) {
		for i := range n {
			d, k := int64(a.lo[i]), int64(b.lo[i])
			if minus {
				k = -k
			}
			r := d + k
			if d <= -farDays || d >= farDays || r <= -farDays || r >= farDays {
				esc.set(i)
			}
			dst.lo[i] = uint64(r)
		}
	}
}

// daysBetween is DATE - DATE.
func daysBetween(dst, a, b *vec, n int, esc *mask) {
	for i := range n {
		x, y := int64(a.lo[i]), int64(b.lo[i])
		if x <= -farDays || x >= farDays || y <= -farDays || y >= farDays {
			esc.set(i)
		}
		dst.lo[i] = uint64(x - y)
	}
}

// momentAndInterval adds an INTERVAL to a DATE or TIMESTAMP: months first, then days, then the time.
func momentAndInterval(k row.Kind, minus bool) kernel {
	return func(dst, a, b *vec, n int, esc *mask) {
		for i := range n {
			days, micros, ok := moment(k, a.lo[i])
			months, more, t := int64(int32(b.lo[i]>>32)), int64(int32(b.lo[i])), int64(b.hi[i])
			if minus {
				months, more, t = -months, -more, -t
			}
			if months != 0 {
				y, m, d := civil(days)
				m += months - 1
				y += floorDiv(m, 12)
				m = m - floorDiv(m, 12)*12 + 1
				days = daysOf(y, m, min(d, monthDays(y, m)))
			}
			if t < -math.MaxInt64/4 || t > math.MaxInt64/4 {
				ok, t = false, 0
			}
			days += more
			if days <= -farDays/2 || days >= farDays/2 {
				ok, days = false, 0
			}
			dst.lo[i] = uint64(days*dayMicros + micros + t)
			if !ok {
				esc.set(i)
			}
		}
	}
}

// between two TIMESTAMPs lie days and microseconds.
func timeBetween(dst, a, b *vec, n int, esc *mask) {
	for i := range n {
		x, y := int64(a.lo[i]), int64(b.lo[i])
		if x < -farInstants/2 || x > farInstants/2 || y < -farInstants/2 || y > farInstants/2 {
			esc.set(i)
		}
		d := x - y
		dst.lo[i] = uint64(uint32(d / dayMicros))
		dst.hi[i] = uint64(d % dayMicros)
	}
}

// timeBucket is time_bucket of a width without months: buckets count from 2000-01-03, a Monday.
func timeBucket(width int64, k row.Kind) converter {
	const origin = 946_857_600_000_000
	return each(func(x uint64) (uint64, bool) {
		days, micros, ok := moment(k, x)
		if days <= -farDays/2 || days >= farDays/2 {
			return 0, false
		}
		t := days*dayMicros + micros - origin
		t = floorDiv(t, width)*width + origin
		if k == row.Date {
			return uint64(floorDiv(t, dayMicros)), ok
		}
		return uint64(t), ok
	})
}

// normalInterval carries days of 24 hours and months of 30 days over.
func normalInterval(dst, a *vec, n int, esc *mask) {
	for i := range n {
		months, days, micros := int64(int32(a.lo[i]>>32)), int64(int32(a.lo[i])), int64(a.hi[i])
		months += days/30 + micros/(30*dayMicros)
		days = days%30 + micros%(30*dayMicros)/dayMicros
		micros %= dayMicros
		if months != int64(int32(months)) {
			esc.set(i)
		}
		dst.lo[i], dst.hi[i] = uint64(uint32(months))<<32|uint64(uint32(days)), uint64(micros)
	}
}
