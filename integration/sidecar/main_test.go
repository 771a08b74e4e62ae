package sidecar

import (
	"testing"

	"go.uber.org/goleak"
)

// go-plugin leaves its connection open when the process ends while it is being connected to.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}
