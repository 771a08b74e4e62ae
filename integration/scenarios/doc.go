// Package scenarios plays Arrow's own Flight integration scenarios, whose
// clients are arrow-go's arrow-flight-integration-client, against our server.
//
// The scenarios send canned input ("heavy query", "SELECT STATEMENT") and
// expect canned answers, so a test-only router takes the place of the Flight
// SQL library's. What they exercise is ours all the same: every call passes
// our interceptors, handshake, admission and wrapper, and wherever a scenario
// is about statements, polls, expiry, renewal, cancellation or metadata, the
// router asks our own server over its own connection and hands the real
// answer on. Nothing of this is in the product.
//
// Not played, or played with a difference, and why:
//
//   - expiration_time:list_actions wants a server with exactly two actions. Ours lists all that it has.
//   - session_options wants a session that keeps any option of any name. Ours has known options with checked values, and says INVALID_NAME
//     for others; the router keeps the scenario's options in the session's place, found by our cookie.
//   - poll_flight_info wants no expiration_time on a finished query. Ours says until when the result is kept, which other clients show.
//   - flight_sql:extension is about Substrait plans and savepoints, which we refuse. What else it asks is in flight_sql.
//   - flight_sql's and ingestion's statements are no SQL; the router answers them itself, behind our wrapper. All metadata is the real one.
package scenarios
