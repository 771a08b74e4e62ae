// Package auth answers one question: who is calling?
//
// Read [Principal] first: it is the answer, carried in a request's context.
// An [Authenticator] turns the credentials of a request (basic at the
// handshake, a bearer token or an API key afterwards) into a Principal. There
// are two: [Open], which lets everybody in and is meant for loopback, and
// [Users], which reads a file of users, keeps it fresh and issues tokens.
//
// Invariants:
//   - Secrets are stored and kept in memory only as hashes: argon2id for
//     passwords, SHA-256 for API keys and tokens (both are random, 256 bits).
//   - A token belongs to one user. When the user leaves the file, or its
//     password changes, every token of the user stops working.
//   - A name that does not exist takes the time of one that does, also when
//     the hashes in the file differ in their cost.
//   - Failed logins slow down only the address and user name that failed.
//   - A users file that cannot be read leaves the last good one in force.
//
// The package also loads or makes the server's TLS certificate.
//
// It must not know Flight, gRPC, SQL or the lake. Reading metadata headers is
// the work of flightsql's interceptors.
package auth
