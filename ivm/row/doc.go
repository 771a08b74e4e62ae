// Package row is a row of a relation as machine words: what flows between
// operators and lies in state.
//
// Read [Layout] first: a row is Layout.Words consecutive uint64, the null bits,
// then one or two words a field. Values that have no fixed size ([Type.Var]) are
// two words, whose bytes beyond the twelfth lie in a [Heap] beside the rows.
// [Layout.FromArrow] and [Layout.ToArrow] are the way in and out.
//
// Words of a field, by its type:
//
//	BOOLEAN, integers to 64 bits   value, sign-extended
//	FLOAT, DOUBLE                  the bits; a FLOAT's in the low half
//	DATE, TIME*, TIMESTAMP*        DuckDB's number (days; units since midnight or 1970)
//	TIMETZ                         micros<<24 | 57599 - offset seconds, as in DuckDB
//	DECIMAL(p <= 18, s)            unscaled value, sign-extended
//	HUGEINT, UHUGEINT, DECIMAL     low, high
//	UUID                           bytes 8-15, bytes 0-7, each big-endian
//	INTERVAL                       months<<32 | days, micros
//	Var                            prefix<<32 | length, bytes 4-11 or a ref into the Heap
//
// A NULL has its bit set and zero words, so rows without long values are equal
// exactly when their words are. A short value's bytes are big-endian in its
// words: comparing words compares bytes.
//
// VARCHAR, JSON, ENUM, BIT and BIGNUM are their text, BLOB and GEOMETRY their
// bytes. Nested values are the bytes of a canonical codec (codec.go). Arrow
// knows no NULL of a UNION and tells it as the first member's NULL; both are
// NULL here. VARIANT is refused.
//
// Invariants: nothing here allocates per row except the Arrow export of its own
// buffers; no Go pointer exists per value; hashes are the same in every process
// and for ever, because they decide where checkpointed state lies.
//
// The package must not know weights, operators, DuckDB's library or a lake.
package row
