package flightsql

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc/metadata"
)

// fromJava says that a call comes from a client that is built on gRPC for Java.
func fromJava(ctx context.Context) bool {
	for _, agent := range metadata.ValueFromIncomingContext(ctx, "user-agent") {
		if strings.Contains(agent, "grpc-java") {
			return true
		}
	}
	return false
}

// javaParameter is as what a parameter is described to Java. The Flight SQL JDBC driver makes its values by this description. Up to version 18.3
// it puts milliseconds into times of every unit, which makes other times of them, and it has no value for a type that is not known: text can
// at least be cast by the statement.
func javaParameter(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.NullType:
		return arrow.BinaryTypes.String
	case *arrow.TimestampType:
		return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: t.TimeZone}
	case *arrow.Time64Type:
		return arrow.FixedWidthTypes.Time32ms
	}
	return t
}
