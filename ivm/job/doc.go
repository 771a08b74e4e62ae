// Package job is durable jobs: work that a statement or a schedule asked for,
// that outlives the call which asked, and whose outcome is never a guess.
//
// Read [Job] first, then [Decide], then [Runner]. A job is a row; whoever moves
// it does so by compare-and-swap on the row's version, so of two moves that
// exclude each other (cancel and publish, two servers' takeovers) exactly one
// happens, and the loser reads the row again.
//
//	QUEUED ──▶ RUNNING ──▶ SUCCEEDED | FAILED
//	   │          │  ▲ └─▶ QUEUED (the server drains; another run follows)
//	   │          ▼  └──── QUEUED | INTERRUPTED (adopted from a dead server)
//	   │      CANCELLING ─▶ CANCELLED
//	   └───────────────────▶ CANCELLED
//
// Invariants:
//
//   - CANCELLED is written after the work has returned and removed what it
//     staged; from CANCELLING on nothing of the job can be published, because
//     the publishing transaction moves RUNNING to SUCCEEDED itself.
//   - An owner that lost its lease cannot move its jobs: adoption changes the
//     row's server, fence and version.
//   - Jobs of one subject (a view) run one at a time in a process, in the order
//     they were submitted.
//   - A run that is expected to be short, or nothing is known about, never waits until a
//     long one has ended, unless others that are short or new were first (lane.go).
//   - Every change of a job, progress included, wakes its waiters once.
//
// The package knows neither SQL nor lakes nor what the jobs do: that is [Work].
package job
