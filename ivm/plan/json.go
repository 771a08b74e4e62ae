package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonKind tells what a [tree] is.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// tree is DuckDB's JSON. It is read here and not by encoding/json because DuckDB writes NaN and Infinity, whose text
// that package refuses, and integers of 64 bits, which it would round.
type tree struct {
	kind  jsonKind
	text  string // of a number or string
	keys  []string
	items []tree
}

// none is what a missing member is.
var none = &tree{}

// maxDepth bounds the nesting, so that no text can exhaust the stack.
const maxDepth = 2000

func parseJSON(text string) (*tree, error) {
	p := &jsonParser{text: text}
	t, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos != len(text) {
		return nil, p.wrong("text behind the end")
	}
	return &t, nil
}

type jsonParser struct {
	text string
	pos  int
}

func (p *jsonParser) wrong(what string) error {
	return fmt.Errorf("plan: %s at byte %d of the plan's JSON", what, p.pos)
}

func (p *jsonParser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *jsonParser) next(c byte) bool {
	if p.space(); p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *jsonParser) value(depth int) (tree, error) {
	if depth > maxDepth {
		return tree{}, p.wrong("too deep a nesting")
	}
	p.space()
	if p.pos >= len(p.text) {
		return tree{}, p.wrong("an early end")
	}
	switch c := p.text[p.pos]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.str()
		return tree{kind: jsonString, text: s}, err
	case c == '-' || c >= '0' && c <= '9' || c == 'N' || c == 'I':
		start := p.pos
		for p.pos < len(p.text) && inNumber(p.text[p.pos]) {
			p.pos++
		}
		s := p.text[start:p.pos]
		if _, err := strconv.ParseFloat(s, 64); err != nil && !isRange(err) {
			return tree{}, p.wrong("not a number")
		}
		return tree{kind: jsonNumber, text: s}, nil
	}
	for _, w := range []string{"null", "true", "false"} {
		if len(p.text)-p.pos >= len(w) && p.text[p.pos:p.pos+len(w)] == w {
			p.pos += len(w)
			if w == "null" {
				return tree{}, nil
			}
			return tree{kind: jsonBool, text: w}, nil
		}
	}
	return tree{}, p.wrong("an unknown word")
}

func isRange(err error) bool {
	return errors.Is(err, strconv.ErrRange)
}

// inNumber are the bytes of a number, NaN or Infinity.
func inNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *jsonParser) object(depth int) (tree, error) {
	t := tree{kind: jsonObject}
	p.pos++
	if p.next('}') {
		return t, nil
	}
	for {
		if p.space(); p.pos >= len(p.text) || p.text[p.pos] != '"' {
			return t, p.wrong("no name of a member")
		}
		k, err := p.str()
		if err != nil {
			return t, err
		}
		if !p.next(':') {
			return t, p.wrong("no colon")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return t, err
		}
		t.keys, t.items = append(t.keys, k), append(t.items, v)
		if p.next('}') {
			return t, nil
		}
		if !p.next(',') {
			return t, p.wrong("no comma")
		}
	}
}

func (p *jsonParser) array(depth int) (tree, error) {
	t := tree{kind: jsonArray}
	p.pos++
	if p.next(']') {
		return t, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return t, err
		}
		t.items = append(t.items, v)
		if p.next(']') {
			return t, nil
		}
		if !p.next(',') {
			return t, p.wrong("no comma")
		}
	}
}

// str reads a string; the position is at its first quote.
func (p *jsonParser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] != '"' && p.text[p.pos] != '\\' {
		p.pos++
	}
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		s := p.text[start:p.pos]
		p.pos++
		return s, nil
	}
	b := []byte(p.text[start:p.pos])
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		switch c {
		case '"':
			return string(b), nil
		case '\\':
			if p.pos >= len(p.text) {
				return "", p.wrong("an early end")
			}
			c = p.text[p.pos]
			p.pos++
			switch c {
			case 'n':
				b = append(b, '\n')
			case 't':
				b = append(b, '\t')
			case 'r':
				b = append(b, '\r')
			case 'b':
				b = append(b, '\b')
			case 'f':
				b = append(b, '\f')
			case 'u':
				r, ok := p.hex()
				if !ok {
					return "", p.wrong("a broken escape")
				}
				if utf16.IsSurrogate(r) && p.pos+1 < len(p.text) && p.text[p.pos] == '\\' && p.text[p.pos+1] == 'u' {
					p.pos += 2
					low, ok := p.hex()
					if !ok {
						return "", p.wrong("a broken escape")
					}
					r = utf16.DecodeRune(r, low)
				}
				b = utf8.AppendRune(b, r)
			default:
				b = append(b, c)
			}
		default:
			b = append(b, c)
		}
	}
	return "", p.wrong("a string without end")
}

func (p *jsonParser) hex() (rune, bool) {
	if p.pos+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.pos:p.pos+4], 16, 32)
	p.pos += 4
	return rune(n), err == nil
}

// get is a member, or none.
func (t *tree) get(key string) *tree {
	if t.kind == jsonObject {
		for i, k := range t.keys {
			if k == key {
				return &t.items[i]
			}
		}
	}
	return none
}

// list are the items of an array.
func (t *tree) list() []tree {
	if t.kind == jsonArray {
		return t.items
	}
	return nil
}

func (t *tree) str(key string) string {
	if v := t.get(key); v.kind == jsonString {
		return v.text
	}
	return ""
}

func (t *tree) bool(key string) bool { v := t.get(key); return v.kind == jsonBool && v.text == "true" }

// nowhere is what DuckDB writes for an index that is not set.
const nowhere = ^uint64(0)

// uint is a number; false for anything else, and for an index that is not set.
func (t *tree) uint() (uint64, bool) {
	if t.kind != jsonNumber {
		return 0, false
	}
	n, err := strconv.ParseUint(t.text, 10, 64)
	return n, err == nil && n != nowhere
}

// int is a small number such as a position in a list; -1 for anything else.
func (t *tree) int() int {
	n, ok := t.uint()
	if !ok || n > 1<<30 {
		return -1
	}
	return int(n)
}

// ints are the small numbers of an array.
func (t *tree) ints() []int {
	var out []int
	for i := range t.list() {
		out = append(out, t.items[i].int())
	}
	return out
}

// compact writes the tree as JSON again.
func (t *tree) compact() string { return string(t.append(nil)) }

func (t *tree) append(b []byte) []byte {
	switch t.kind {
	case jsonNull:
		return append(b, "null"...)
	case jsonBool, jsonNumber:
		return append(b, t.text...)
	case jsonString:
		return appendText(b, t.text)
	case jsonArray:
		b = append(b, '[')
		for i := range t.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = t.items[i].append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i := range t.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, t.keys[i]), ':')
		b = t.items[i].append(b)
	}
	return append(b, '}')
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, '"', '"')
	}
	return append(b, text...)
}
