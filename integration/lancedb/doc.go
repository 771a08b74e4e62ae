// Package lancedb checks retained query handles the way LanceDB's remote SQL
// client uses them.
//
// contract_test.go replays its calls one by one, and goes where the released
// client cannot be led: a poll that is given up after a second, a cancellation
// at each moment of a statement's life, expiry, and polls after the server was
// killed. client_test.go runs the released Python client itself, unmodified
// (client.py).
//
// What that client does on the wire: it submits with PollFlightInfo, describes
// with a poll that it abandons after a second, waits with polls of minutes,
// reads the endpoints as soon as they are named, and cancels with the whole
// FlightInfo it saw last. An API key is its only credential.
package lancedb
