package flightsql

import (
	"strings"
	"unicode"
)

// segment is what stands between two borders of a drawn tree's line: bytes of
// the line, and columns of the drawing.
type segment struct {
	from, to    int
	first, last int
}

// boxes rewrites the lists of files in a tree of boxes, in place. DuckDB wraps
// them over the lines of their box, beside which other boxes may stand.
func (r redactor) boxes(lines []string) {
	for i := range lines {
		for _, s := range segments(lines[i]) {
			if strings.TrimSpace(lines[i][s.from:s.to]) == fileLabel {
				r.box(lines, i+1, s)
			}
		}
	}
}

// box rewrites the list that starts at a line and goes on in the columns of a segment up to an empty one.
func (r redactor) box(lines []string, start int, at segment) {
	var places []segment
	var list strings.Builder
	for i := start; i < len(lines); i++ {
		s, ok := at.in(lines[i])
		text := ""
		if ok {
			text = strings.TrimSpace(lines[i][s.from:s.to])
		}
		if text == "" {
			break
		}
		places = append(places, s)
		list.WriteString(spaceless(text))
	}
	width := at.last - at.first
	names := strings.Join(r.relative(list.String(), true), ", ")
	for i, s := range places {
		var part string
		part, names = fold(names, width-2)
		if i == len(places)-1 && names != "" {
			part, _ = fold(part, width-3)
			part += "…"
		}
		left := (width - displayWidth(part)) / 2
		part = strings.Repeat(" ", left) + part + strings.Repeat(" ", width-left-displayWidth(part))
		line := lines[start+i]
		lines[start+i] = line[:s.from] + part + line[s.to:]
	}
}

// in finds the segment of the same columns in another line.
func (s segment) in(line string) (segment, bool) {
	for _, other := range segments(line) {
		if other.first == s.first && other.last == s.last {
			return other, true
		}
	}
	return segment{}, false
}

// segments are the places between the upright borders of a line.
func segments(line string) []segment {
	var out []segment
	column, open := 0, segment{from: -1}
	for i, c := range line {
		if c == '│' || c == '├' || c == '┤' {
			if open.from >= 0 && i > open.from {
				open.to, open.last = i, column
				out = append(out, open)
			}
			open = segment{from: i + len(string(c)), first: column + 1}
		}
		column += runeWidth(c)
	}
	return out
}

// fold cuts a text at a width, at a space if there is one.
func fold(text string, width int) (part, rest string) {
	used, space := 0, -1
	for i, c := range text {
		if c == ' ' {
			space = i
		}
		if used += runeWidth(c); used > width {
			if space > 0 {
				return text[:space], text[space+1:]
			}
			return text[:i], text[i:]
		}
	}
	return text, ""
}

func displayWidth(text string) int {
	n := 0
	for _, c := range text {
		n += runeWidth(c)
	}
	return n
}

// wideRunes are the characters that take two columns of a terminal.
var wideRunes = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff01, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

func runeWidth(c rune) int {
	switch {
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wideRunes, c):
		return 2
	}
	return 1
}
