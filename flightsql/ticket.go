package flightsql

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/vegadb/vega-flight/fault"
)

// Tickets and descriptors of retained handles are plain text with a version.
// Being no protobuf Any, they cannot be mistaken for a Flight SQL command, and
// a log shows what they are. They hold nothing but an unguessable id.
var (
	ticketPrefix     = []byte("vega-result:v1:")
	descriptorPrefix = []byte("vega-job:v1:")
)

func newTicket(handle string) *flight.Ticket {
	return &flight.Ticket{Ticket: append(bytes.Clone(ticketPrefix), handle...)}
}

func parseTicket(ticket []byte) (handle string, ok bool) {
	rest, ok := bytes.CutPrefix(ticket, ticketPrefix)
	return string(rest), ok
}

func newDescriptor(handle string, seq uint64) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: fmt.Appendf(nil, "%s%s:%d", descriptorPrefix, handle, seq)}
}

func isHandleDescriptor(desc *flight.FlightDescriptor) bool {
	return desc.GetType() == flight.DescriptorCMD && bytes.HasPrefix(desc.GetCmd(), descriptorPrefix)
}

// parseDescriptor gives the handle and the change that the client has seen.
func parseDescriptor(desc *flight.FlightDescriptor) (handle string, seen uint64, err error) {
	rest, ok := bytes.CutPrefix(desc.GetCmd(), descriptorPrefix)
	handle, number, two := strings.Cut(string(rest), ":")
	seen, nerr := strconv.ParseUint(number, 10, 64)
	if !ok || !two || nerr != nil || !plausibleHandle(handle) {
		return "", 0, fault.InvalidParameter.Newf("the descriptor is none that this server gave")
	}
	return handle, seen, nil
}

// plausibleHandle keeps garbage from reaching the catalog and the file system.
func plausibleHandle(id string) bool {
	rest, ok := strings.CutPrefix(id, handlePrefix)
	if !ok || len(rest) != 22 {
		return false
	}
	for _, c := range []byte(rest) {
		if !isWord(c) && c != '-' || c >= 0x80 {
			return false
		}
	}
	return true
}
