package flightsql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// What the JDBC driver cannot make right values of is described to it as what it can.
func TestParametersAreDescribedToJava(t *testing.T) {
	const sql = "SELECT ?::TIMESTAMP, ?::TIMESTAMPTZ, ?::TIME, ?::DATE, ?::DECIMAL(10,2), ?"
	h := open(t)
	for agent, want := range map[string]string{
		"":                       "timestamp[us],timestamp[us, tz=UTC],time64[us],date32,decimal(10, 2),null",
		"grpc-java-netty/1.71.0": "timestamp[ms],timestamp[ms, tz=UTC],time32[ms],date32,decimal(10, 2),utf8",
	} {
		c, err := flightsql.NewClient(h.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent(agent))
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Prepare((&client{c, t, "ann"}).ctx(), sql)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range p.ParameterSchema().Fields() {
			got += "," + f.Type.String()
		}
		if got[1:] != want {
			t.Errorf("%q: %s, want %s", agent, got[1:], want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
