// Package zset is changes: rows with weights.
//
// Read [Batch] first. A row's weight says how many copies of it came (positive)
// or went (negative). [Batch.Consolidate] makes each row appear once, with the
// sum of its weights, and drops those whose sum is zero; two batches are the
// same change exactly when their consolidated rows are ([Batch.Equal]).
//
// A batch that an operator gives belongs to it and is valid until its next step.
// Whoever keeps rows copies them ([Batch.Append], row.Layout.Copy): the words
// alone are not enough where values are long.
//
// Consolidation of small batches, and of those whose index fits the cache, is one
// pass over a hash index; larger ones are gone through by hash in parts that fit.
// Rows keep the order in which they first appeared. The index is kept in the
// batch, so a batch that is reused does not allocate.
//
// [Parse] and [Batch.Print] are the text form of scripts: one row a line, fields
// and weight separated by " | ".
//
// The package must not know operators, state, DuckDB or a lake.
package zset
