// Package maintain keeps a lake in shape without taking anything from anybody:
// it knows which servers live, which snapshots are still needed, and what
// may be flushed, merged, expired and removed.
//
// Read [Maintainer] first: RunOnce does what is due, Run does it again and again.
//
//	who lives       [Servers]: leases by the catalog's clock, with fencing epochs that every publication checks
//	what is needed  [Holds] in the catalog, [Pins] of this process's readers and transactions
//	what is due     pending inlined rows, of users' tables too ─▶ flush; small files ─▶ merge; snapshots that hold only
//	                our publications ─▶ expire after a while; retired files ─▶ remove;
//	                staged files of servers that are gone, files that no
//	                catalog entry names and nobody living can have begun ─▶ remove
//
// What always holds:
//   - A snapshot that somebody holds or reads is never expired, and neither is any after
//     a snapshot from which somebody follows the changes. Users' snapshots expire only
//     by the operator's policy.
//   - A file is removed from disk only when no live reader can have begun before it was retired.
//   - Staged files, jobs and journal entries are taken from a server only after its lease
//     has run out and its epoch was raised, so that it can publish nothing more.
//
// The package must not know views or jobs; who holds what are names, and what a
// dead server leaves behind is handed to [Config.TakenOver].
package maintain
