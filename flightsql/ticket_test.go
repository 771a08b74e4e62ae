package flightsql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

func TestDescriptorsAndTickets(t *testing.T) {
	id := newToken(handlePrefix)
	desc := newDescriptor(id, 42)
	if !isHandleDescriptor(desc) {
		t.Fatalf("%q", desc.Cmd)
	}
	if got, seen, err := parseDescriptor(desc); err != nil || got != id || seen != 42 {
		t.Fatalf("%s %d %v", got, seen, err)
	}
	if got, ok := parseTicket(newTicket(id).Ticket); !ok || got != id {
		t.Fatal(got)
	}
	for _, bad := range []string{"", "vega-job:v1:", "vega-job:v1:" + id, "vega-job:v1:" + id + ":x", "vega-job:v1:" + id + ":-1",
		"vega-job:v2:" + id + ":1", "vega-job:v1:../../etc/passwd:1", "vega-job:v1:vqh_" + "/.././../././../././..:1", "vega-job:v1:" + id + "x:1"} {
		if _, _, err := parseDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte(bad)}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if isHandleDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"vega-job:v1:"}}) || isHandleDescriptor(nil) {
		t.Error("a path is no handle")
	}
}

func FuzzDescriptor(f *testing.F) {
	f.Add(newDescriptor(newToken(handlePrefix), 7).Cmd)
	f.Add([]byte("vega-job:v1:vqh_aaaaaaaaaaaaaaaaaaaaaa:18446744073709551615"))
	f.Add([]byte("vega-job:v1::"))
	f.Fuzz(func(t *testing.T, cmd []byte) {
		desc := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
		id, seen, err := parseDescriptor(desc)
		if err != nil {
			return
		}
		if !plausibleHandle(id) || !isHandleDescriptor(desc) {
			t.Fatalf("%q gave the handle %q", cmd, id)
		}
		if again, n, err := parseDescriptor(newDescriptor(id, seen)); err != nil || again != id || n != seen {
			t.Fatalf("%q does not come back: %q %d %v", cmd, again, n, err)
		}
	})
}

func FuzzTicket(f *testing.F) {
	f.Add(newTicket(newToken(handlePrefix)).Ticket)
	f.Add([]byte("vega-result:v1:../x"))
	f.Fuzz(func(t *testing.T, ticket []byte) {
		id, ok := parseTicket(ticket)
		if ok && plausibleHandle(id) && string(newTicket(id).Ticket) != string(ticket) {
			t.Fatalf("%q does not come back", ticket)
		}
	})
}
