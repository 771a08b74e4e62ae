package flightsql

import (
	"context"

	"github.com/vegadb/vega-flight/flightsql/auth"
)

// authed is a call's context as the interceptors make it.
func authed(name string) context.Context {
	return auth.NewContext(context.Background(), auth.Principal{Name: name, Admin: name == "admin"})
}

// again is the service of another process on the same lake, as after a restart.
func (h *house) again() *Service {
	h.t.Helper()
	svc, err := New(context.Background(), h.svc.config)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil {
			h.t.Errorf("close the other service: %v", err)
		}
	})
	return svc
}
