// Package state is what operators remember: a [Table] maps keys to a payload (a
// few words: accumulators) and an ordered multiset of entries (rows with
// weights). Joins, min and max, DISTINCT, top-k, windows and groups are all kept
// in it, in memory ([New]) or over a [Store] ([Open]).
//
// Read [Table] and [Spec] first, then [Cursor]; [Store] and [Checkpoint] for what
// survives a crash.
//
// Inside there is no Go pointer per key or entry and nothing is allocated per
// change: index.go finds a key's record by its hash, in segments that grow one by
// one; record.go has the records, of a fixed stride, in chunks that never move;
// leaf.go the sorted blocks of entries, with weights only where one is not 1;
// tree.go a counted B+ tree over blocks for keys with many; slab.go the pages
// that all blocks share. One entry of up to eight words lies in the record
// itself. Measured against alternatives: leaves of 192 words beat 384 by a third
// for random changes; separators of inner nodes apart from their slots save two
// cache misses a level; batch lookups go through 64 keys step by step, so that
// their misses overlap.
//
// Order: entries are ordered by their fields, as unsigned words or bytes, the
// null bits last; the first Spec.Order fields are the wanted order and have no
// NULLs, the others make it total.
//
// Rules: slices given are the table's own and end with the next change of it;
// a Ref ends with Remove or Trim; keys and entries are copied; one goroutine a
// table (parts of one: [Part], [Shard]). Reads do not fail in memory; over a
// store an error sticks ([Table.Err]) and no checkpoint is committed after it.
//
// Checkpoints: a change sets a dirty bit in the record and along the tree's path
// and lists the record. [Store.Capture] takes the lists and swaps the bits, no
// more; each captured record is written when [Checkpoint.Drain] comes to it or
// just before it changes. [Checkpoint.Commit] makes all of it and the caller's
// frontier durable at once: by one synced batch, or above 100 000 records by
// sorted files that Pebble takes over, because its log and memory would see
// every row twice. Keys carry their key group, of 256, so that a restart may
// divide a table among other workers. Removed keys stay as ghosts until the
// store has forgotten them; [Table.Trim] drops what the store has unchanged, by
// a clock, whole keys and single leaves of large ones.
//
// statetest is the suite that both backings pass. The package must not know
// operators, plans, DuckDB or a lake.
package state
