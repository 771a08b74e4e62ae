// Package catalog is what the engine knows about its views: who they are, what
// they compute, what they read, and what was last published.
//
// Read [View] first. A view is a lake table (its uuid is the identity), a row
// that this server wrote ([Row]), and what was published for it ([Published]).
// [Resolve] puts the three together and says what does not fit.
//
//	the table's comment ─┐
//	the row in vega_views ┼─▶ Resolve ─▶ View, UNADOPTED, and repairs
//	the published frontier┘
//
// The definition is written twice: as the table's comment, so that it travels
// with the lake, and in the row, which alone is believed, because anyone who
// may comment on a table could forge a comment. [Definition] is the text's
// format; [Options] are the view's stored options.
//
// [Graph] answers who depends on whom; [Frontier] and [Staleness] say how far
// behind its base tables a view is.
//
// Invariants:
//
//   - a comment without a row never makes a table a view;
//   - a row whose table is gone is no view, and is forgotten;
//   - a definition of a newer format is never interpreted, only named.
//
// [Store] is the port to durable storage. The package does no I/O of its own
// and must not know SQL dialects, the lake, jobs or protocols.
package catalog
