// Package stream is the life of streaming views: how each of them begins, keeps up with the lake, publishes,
// is checkpointed, stopped, blocked, healed and brought back.
//
// Read [Supervisor] first, then group.go and member.go. A member is one generation of a view: a graph of
// operators over a store of state, and the table that it writes. Members that read each other are a group: one
// goroutine steps them in topological order from one lake snapshot to another and publishes what came of it in
// one commit, so nothing that is derived from two views is ever torn.
//
//	commits of the lake ─▶ log ─▶ group ─▶ window ─▶ member.step … ─▶ Sink.Publish ─▶ checkpoints
//	records of the views ─▶ Decide ─▶ build, join, restart, pause, block, discard
//
// Words:
//
//	frontier   the lake snapshot whose content of the sources a member's result is the query's answer for
//	clock      the logical time that now() is at the frontier
//	published  the newest lake snapshot in which all results of a group show their content at the frontier
//	pending    what has changed of a result since it was published
//	fresh      a member whose pending is the whole content: what is published is its difference to the table
//
// Invariants:
//
//   - One way forward: recovery, joining a group and an ordinary epoch are all [member.step] from a frontier to the
//     next. Base tables come by their changes; a view in the same cluster by the change it has just made;
//     a view outside of it by its table's changes between two published snapshots.
//   - A window ends between snapshots, and at every snapshot that may have changed columns.
//   - All reading of an epoch is done before any state is touched: what cannot be read changes nothing.
//   - A checkpoint is captured only when everything is published, and what it needs is held in the lake before
//     what the one before it needed is let go.
//   - What is published is taken from the catalog when a member begins, never from the checkpoint.
//
// decide.go, begin.go and window.go are pure. The package must not know SQL text, DuckDB, the lake or protocols.
package stream
