// Package crash kills the real server at random moments of ingest, create,
// refresh, replace and drop, starts it again on the same lake, and asks every
// time: is each acknowledged write there, is each view a whole generation,
// does `vega-flight check` pass, do old query handles answer.
//
// The number of kills is VEGA_KILLS (default 30); equal seeds give equal
// workloads, not equal moments.
package crash
