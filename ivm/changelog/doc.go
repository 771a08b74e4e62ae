// Package changelog lets subscribers follow views: the content first, if they
// want it, then every publication, in order, each once.
//
// Read [Changelog] first, then [Request] and [Subscription]. What is sent is the
// result table's own history in the lake: the changes of a publishing snapshot, or
// the content at one. What is kept here is only a cache of that, so a subscriber
// may go on anywhere, on any server, from the snapshot that it has applied.
//
//	request   a view and what its subscriber wants; it can be described before it is opened
//	commit    a lake snapshot that touched the view's table (watch.go finds them, one catalog query for all views)
//	tape      what a commit means for subscribers, as Arrow batches, made once and read by all (tape.go, load.go)
//	given     what a publication of this server changed, as its publisher had it in memory (given.go): the tape is made of that, not of the feed
//	ahead     what was read of the next commits together with one of a subscriber that is behind (ahead.go)
//	frame     begin … the whole content … end: what was applied before is void
//	position  the lake snapshot up to which a subscriber has everything
//
// A subscription is pulled: [Subscription.Next] gives one batch, and nothing is
// prepared for a subscriber that does not ask. Tapes are read from memory, or from
// an unlinked file once they are long: a slow reader holds no connection to DuckDB.
//
// Invariants:
//   - A position is given to a subscriber only with the last batch of what it stands for.
//   - The batches of a commit, summed up, are the difference of the table between
//     the commit before and it; a row comes once, with its net weight.
//   - A hold of this server keeps the history from the oldest position of a view's
//     subscribers on; it moves with them and ends with the last one, or with the server's lease.
//   - With a key (upsert), commits of other programs, and the one that undoes them,
//     come as frames, because a key may be there twice between them.
//
// The package must not know how views are computed, statements, protocols, DuckDB or a lake.
package changelog
