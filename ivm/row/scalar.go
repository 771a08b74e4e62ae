package row

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/fault"
)

var allocator = memory.NewGoAllocator()

func float32Of(w uint64) float32 { return math.Float32frombits(uint32(w)) }
func float64Of(w uint64) float64 { return math.Float64frombits(w) }

func parseUUID(s string) (lo, hi uint64, err error) {
	var b [16]byte
	digits := strings.ReplaceAll(s, "-", "")
	if n, e := hex.Decode(b[:], []byte(digits[:min(len(digits), 32)])); e != nil || n != 16 || len(digits) != 32 {
		return 0, 0, fault.InvalidParameter.Newf("%q is no UUID", s)
	}
	return binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[:8]), nil
}

func appendUUID(dst []byte, lo, hi uint64) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

// zeroOffset is what DuckDB subtracts the offset's seconds from.
const zeroOffset = 16*3600 - 1

func appendTimeTZ(dst []byte, w uint64) []byte {
	dst = appendClock(dst, int64(w>>24), 6)
	off := zeroOffset - int64(w&0xffffff)
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = fmt.Appendf(append(dst, sign), "%02d", off/3600)
	if off%3600 != 0 {
		dst = fmt.Appendf(dst, ":%02d", off/60%60)
		if off%60 != 0 {
			dst = fmt.Appendf(dst, ":%02d", off%60)
		}
	}
	return dst
}

func parseTimeTZ(s string) (uint64, error) {
	at := strings.LastIndexAny(s, "+-")
	if at < 0 {
		return 0, fault.InvalidParameter.Newf("%q is no time with an offset", s)
	}
	clock, err := parseClock(s[:at], 6)
	if err != nil {
		return 0, err
	}
	off := int64(0)
	unit := int64(3600)
	for _, part := range strings.Split(s[at+1:], ":") {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || unit == 0 || len(part) != 2 {
			return 0, fault.InvalidParameter.Newf("%q is no time with an offset", s)
		}
		off += int64(n) * unit
		unit /= 60
	}
	if s[at] == '-' {
		off = -off
	}
	return uint64(clock)<<24 | uint64(zeroOffset-off), nil
}

// appendClock appends a time of day in units of 10^-digits seconds.
func appendClock(dst []byte, x int64, digits int) []byte {
	unit := pow10(digits)
	s := x / unit
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if f := x % unit; f != 0 {
		text := fmt.Sprintf("%0*d", digits, f)
		dst = append(append(dst, '.'), strings.TrimRight(text, "0")...)
	}
	return dst
}

func parseClock(s string, digits int) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	parts := strings.Split(whole, ":")
	if len(parts) != 3 || len(frac) > digits {
		return 0, fault.InvalidParameter.Newf("%q is no time of day", s)
	}
	x := int64(0)
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return 0, fault.InvalidParameter.Newf("%q is no time of day", s)
		}
		x = x*60 + int64(n)
	}
	f := uint64(0)
	if frac != "" {
		var err error
		if f, err = strconv.ParseUint(frac+strings.Repeat("0", digits-len(frac)), 10, 64); err != nil {
			return 0, fault.InvalidParameter.Newf("%q is no time of day", s)
		}
	}
	return x*pow10(digits) + int64(f), nil
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}
