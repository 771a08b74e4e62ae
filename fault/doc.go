// Package fault is the errors that leave this program: each has a stable
// upper-case name, a kind, a place and what to do next.
//
// Read [Code] first: every name a user may meet is defined once in codes.go,
// with the kind that decides its gRPC status. An [Error] is made from its code:
//
//	return fault.NotPopulated.Newf("view %s has no content yet", name).
//		WithHint("run REFRESH MATERIALIZED VIEW %s", name)
//
// errors.Is(err, fault.NotPopulated.Sentinel()) and fault.CodeOf(err) ask for
// the name. The text of an error starts with the name, so that it survives
// clients that keep only the message.
//
// This is a leaf: it imports nothing of ours and must not know SQL, the lake
// or any protocol. The mapping to gRPC statuses is in flightsql/errors.go.
package fault
