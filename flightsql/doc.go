// Package flightsql is the protocol edge: the only code that knows Arrow
// Flight, Flight SQL and gRPC. It turns calls into statements, statements into
// work for the engine (ivm) or the lake (ducklake), and errors into statuses.
//
// Read [Service] first, then plan.go: a call finds its session, its text
// becomes an [execution], and running that gives a [stream].
//
//	call ─▶ session(ctx) ─▶ plan(text) ─▶ execution ─▶ Run ─▶ stream ─▶ result (ticket) ─▶ DoGet
//	                                          └─▶ handle (PollFlightInfo): run in the background, kept
//
// The rooms:
//
//	service.go      Service, Config, the observer of what happens; New and Close
//	server.go       the gRPC server around it; interceptors.go handshake.go: what every call passes; admission.go drain.go
//	wrapper.go      the Flight service around the library's router; actions.go: our own actions
//	session.go      one client's session; sessions.go finds, counts and ends them; connection.go tags connections
//	plan.go         text → execution; route.go: one statement's way to engine or lake; execution.go runs it
//	stream.go       a running result: batches in bounded memory, to a DoGet's channel
//	result.go       results waiting for their one DoGet, under opaque tickets
//	statement.go prepared.go bind.go update.go   the statement calls
//	transaction.go ingest.go options.go          the other calls of a session
//	subscribe.go         subscriptions: a DoGet of their own, with app_metadata and an end for readers that take nothing
//	metadata.go tables.go keys.go sqltype.go typeinfo.go sqlinfo.go   what is in the lake, what the server can do
//	handles.go      retained query handles: handle.go is one; submit.go poll.go fetch.go cancel.go renew.go are its life,
//	                follow.go handlestore.go what outlives the process, spool.go its rows, ticket.go its names
//	errors.go       fault → gRPC status, the only place; duckerror.go helps it
//	redact.go       secrets and the host's paths out of what callers read; planpaths.go planboxes.go: out of plans
//	record.go       the log line and figures of each statement
//
// Invariants:
//   - A FlightInfo has its schema, and the stream of its ticket has exactly it.
//   - Side effects happen in GetFlightInfo, DoPut or the first poll, once; a
//     DoGet only reads. Results of direct statements are read once.
//   - Tickets, handles and transaction ids are random and belong to their
//     caller; anybody else's are NotFound, as are unknown ones.
//   - Nothing outlives its session but retained handles; nothing outlives
//     the Service.
//   - Memory per stream is bounded by a few batches; a slow reader costs
//     itself only.
//
// It must not know how a view is refreshed, how the lake commits, or SQL
// beyond asking ivm/ddl and the lake's gate what a text is.
package flightsql
