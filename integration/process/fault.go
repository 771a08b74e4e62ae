package process

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// Code is the stable name of a server's error, "" when it has none.
func Code(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// Refused checks that err has one of the stable names, also as the message's first word.
func Refused(t testing.TB, err error, names ...string) {
	t.Helper()
	name := Code(err)
	switch {
	case err == nil:
		t.Fatalf("no error, want %v", names)
	case !slices.Contains(names, name):
		t.Fatalf("%v\nis %q, want %v", err, name, names)
	case !strings.HasPrefix(status.Convert(err).Message(), name+":"):
		t.Fatalf("the message does not begin with %s: %v", name, err)
	}
}
