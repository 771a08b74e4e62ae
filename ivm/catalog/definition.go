package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vegadb/vega-flight/fault"
)

// Format is the envelope format this server writes, and the newest it reads.
const Format = 1

// Definition is what a view computes, independent of any session.
type Definition struct {
	Kind     Kind
	Query    string // canonical SQL
	TimeZone string // the time zone the query was bound in; part of its meaning
	Options  Options
	Pinned   []Pinned
	// Consistent: two runs over the same source rows give the same answer, so a refresh without changed sources has nothing to do.
	Consistent bool
}

// Pinned is a plain view or macro whose text is part of the query.
type Pinned struct {
	Type string `json:"type"` // view, macro, table macro
	Name string `json:"name"` // qualified
	SQL  string `json:"sql"`
}

// envelope is the stored text. Other programs may know its first three keys;
// what is below "vega" is this server's own, and what it does not know there
// may change the meaning, so it is refused.
type envelope struct {
	Kind   string          `json:"kind"`
	Format int             `json:"format"`
	Query  string          `json:"query"`
	Vega   json.RawMessage `json:"vega,omitempty"`
}

type vegaPart struct {
	Mode       Kind     `json:"mode"`
	TimeZone   string   `json:"time_zone,omitempty"`
	Consistent bool     `json:"consistent"`
	Options    Options  `json:"options"`
	Pinned     []Pinned `json:"pinned,omitempty"`
}

const queryKind = "query"

// Encode writes the envelope. Equal definitions have equal texts.
func (d Definition) Encode() string {
	vega := encode(vegaPart{Mode: d.Kind, TimeZone: d.TimeZone, Consistent: d.Consistent, Options: d.Options, Pinned: d.Pinned})
	return string(encode(envelope{Kind: queryKind, Format: Format, Query: d.Query, Vega: vega}))
}

// encode is json.Marshal without the escapes for HTML, which make queries hard to read.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("catalog: a definition must encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Decode reads an envelope. The errors are DEFINITION_TOO_NEW, for what a newer
// server may have written, and DEFINITION_UNREADABLE.
func Decode(text string) (Definition, error) {
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Definition{}, fault.DefinitionInvalid.Wrap(err, "the definition is no envelope")
	}
	switch {
	case e.Format > Format:
		return Definition{}, fault.DefinitionTooNew.Newf("the definition has format %d; this server reads up to %d", e.Format, Format).
			WithHint("use a newer server")
	case e.Format < 1:
		return Definition{}, fault.DefinitionInvalid.Newf("the definition has no format")
	case e.Kind != queryKind:
		return Definition{}, fault.DefinitionTooNew.Newf("the definition is of the kind %q; this server reads %q", e.Kind, queryKind)
	case e.Query == "":
		return Definition{}, fault.DefinitionInvalid.Newf("the definition has no query")
	}
	d := Definition{Kind: Traditional, Query: e.Query}
	if e.Vega == nil {
		return d, nil
	}
	var v vegaPart
	dec := json.NewDecoder(bytes.NewReader(e.Vega))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return Definition{}, vegaProblem(e.Vega, err)
	}
	switch o := v.Options; {
	case v.Mode != Traditional && v.Mode != Streaming:
		return Definition{}, fault.DefinitionTooNew.Newf("the definition is of a %q view; this server knows %q and %q views", v.Mode, Traditional, Streaming)
	case v.Mode == Traditional && o.Stream != nil:
		return Definition{}, fault.DefinitionTooNew.Newf("the definition is of a traditional view and has the option %q", o.Stream[0].Name)
	case v.Mode == Streaming && (o.RefreshInterval != nil || o.RefreshCron != ""):
		return Definition{}, fault.DefinitionTooNew.Newf("the definition is of a streaming view and says when it is refreshed")
	}
	d.Kind, d.TimeZone, d.Consistent, d.Options, d.Pinned = v.Mode, v.TimeZone, v.Consistent, v.Options, v.Pinned
	return d, nil
}

// vegaProblem tells a part with unknown keys from a damaged one.
func vegaProblem(text []byte, cause error) error {
	var f *fault.Error
	if errors.As(cause, &f) {
		return f
	}
	var v vegaPart
	if err := json.Unmarshal(text, &v); err != nil {
		if errors.As(err, &f) {
			return f
		}
		return fault.DefinitionInvalid.Wrap(err, "the definition's vega part")
	}
	return fault.DefinitionTooNew.Wrap(cause, "the definition has parts that this server does not know")
}

// Meaning differs between definitions whose content may differ for the same sources.
func (d Definition) Meaning() string {
	d.Options = Options{}
	return HashDefinition(d.Encode())
}

// LooksLikeDefinition tells a definition, of any format, from the comments people write.
func LooksLikeDefinition(comment string) bool {
	if len(comment) == 0 || comment[0] != '{' {
		return false
	}
	var e struct {
		Kind   *string `json:"kind"`
		Format *int    `json:"format"`
		Query  *string `json:"query"`
	}
	return json.Unmarshal([]byte(comment), &e) == nil && e.Kind != nil && e.Format != nil && e.Query != nil
}

// HashDefinition is what a row remembers of a definition's text.
func HashDefinition(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// WithDefinition is the row with another definition.
func (r Row) WithDefinition(d Definition) Row {
	r.Definition = d.Encode()
	r.Hash = HashDefinition(r.Definition)
	return r
}
