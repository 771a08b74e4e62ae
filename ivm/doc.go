// Package ivm is the materialized views of one lake, as statements see them.
//
// Read [Engine] first. [Engine.Execute] takes one parsed statement of ours and
// gives its rows; [Engine.Submit] does the same for callers that poll: what
// stands behind a durable job is returned as the job. [Engine.Admit] decides
// for every other statement whether it may touch the views it names.
//
// Words:
//
//	view        a lake table that only its refreshes write; its definition is the table's comment plus a row of ours
//	generation  one complete content of a view, published by one lake commit
//	source      a lake table (perhaps a view) that a view's query reads, known by its uuid and column ids
//	vector      the lake snapshots of the sources that a generation was computed from
//	job         a durable piece of work; creates with data and refreshes are jobs
//	frontier    the lake snapshot that a streaming view's content is its query's answer at
//
// Walk 1, CREATE: execute.go binds the query in the caller's session (Binder),
// create.go makes table, comment and rows as one journaled operation, inserts
// the job with them and waits for it (wait.go).
//
// Walk 2, REFRESH: a job is submitted (job.Runner), refresh.Refresher pins,
// evaluates, stages and publishes; the publishing commit ends the job too.
//
// Walk 3, EXPLAIN STREAMING: explain.go has the query bound, bind.Planner has
// DuckDB plan it, plan reads the plan, admits or refuses it and explains. What a
// plan becomes is dataflow's graph of operators: over rows (row, zset), with
// state (state) and expressions (eval, which alone meets DuckDB there).
//
// Walk 4, CREATE STREAMING: streamcreate.go admits the plan and makes table and rows;
// stream.Supervisor takes the view up, loads it and joins it to the group of the views that it reads.
//
// Walk 5, a change: ducklake/feed tells of a commit, source/lake makes rows of it,
// stream's group steps its members' dataflow graphs and publishes what came of it by
// sink/lake in one commit; changelog reads that for those who SUBSCRIBE (subscribe.go).
//
// The package and all below it but the adapters (store, bind, source/lake, sink/lake, eval/evaluator) know
// no DuckDB, no lake and no protocol.
package ivm
