package flightsql

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/vegadb/vega-flight/fault"
)

func TestTransactions(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	c.must("CREATE TABLE x (i INTEGER)")
	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	// Before the first write it sees what others commit.
	other.must("INSERT INTO x VALUES (0)")
	info, err := tx.Execute(c.ctx(), "SELECT count(*) FROM x")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.rows(info)
	if err != nil || rows[0][0] != "1" {
		t.Fatalf("%v, %v", rows, err)
	}
	n, err := tx.ExecuteUpdate(c.ctx(), "INSERT INTO x VALUES (1), (2)")
	if err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	equal(t, "own rows", c.value("SELECT count(*) FROM x"), "3")
	equal(t, "others' view", other.value("SELECT count(*) FROM x"), "1")
	_, err = tx.Execute(c.ctx(), "CREATE TABLE y (i INTEGER)")
	wants(t, err, fault.DDLInTransaction)
	_, err = tx.Execute(c.ctx(), "CREATE MATERIALIZED VIEW m AS SELECT i FROM x")
	wants(t, err, fault.DDLInTransaction)
	if _, err := tx.Execute(c.ctx(), "SHOW JOBS"); err != nil {
		t.Errorf("SHOW in a transaction: %v", err)
	}
	if err := tx.Commit(c.ctx()); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the commit", other.value("SELECT count(*) FROM x"), "3")

	tx, err = c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecuteUpdate(c.ctx(), "DELETE FROM x"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the rollback", c.value("SELECT count(*) FROM x"), "3")
}

func TestTransactionsBelongToTheirSession(t *testing.T) {
	h := open(t)
	c, other, bob := h.client("ann"), h.client("ann"), h.client("bob")
	c.must("CREATE TABLE x (i INTEGER)")
	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, thief := range []*client{other, bob} {
		_, err = tx.ExecuteUpdate(thief.ctx(), "INSERT INTO x VALUES (1)") // on c's connection as another user
		if thief == bob {
			wants(t, err, fault.TransactionUnknown)
		}
	}
	id := string(tx.ID())
	stolen := fakeTransaction{c: other, id: id}
	wants(t, stolen.update("INSERT INTO x VALUES (1)"), fault.TransactionUnknown)
	wants(t, fakeTransaction{c: c, id: "guess"}.update("INSERT INTO x VALUES (1)"), fault.TransactionUnknown)
	_, err = c.BeginTransaction(c.ctx())
	if err == nil {
		t.Error("a session has two transactions")
	}
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
	wants(t, fakeTransaction{c: c, id: id}.update("INSERT INTO x VALUES (1)"), fault.TransactionUnknown)
}

func TestTransactionsBySQL(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE x (i INTEGER)")
	c.must("BEGIN")
	c.must("INSERT INTO x VALUES (1)")
	c.must("ROLLBACK")
	equal(t, "rows", c.value("SELECT count(*) FROM x"), "0")
	c.must("BEGIN; INSERT INTO x VALUES (1); COMMIT")
	equal(t, "rows", c.value("SELECT count(*) FROM x"), "1")
	c.fails("COMMIT", fault.TransactionUnknown)
	c.must("BEGIN")
	c.fails("BEGIN", fault.TransactionFailed)
	c.must("INSERT INTO x VALUES (2)")
	c.fails("INSERT INTO x SELECT 'no number'::INTEGER", fault.SQLError)
	c.fails("SELECT 1", fault.TransactionFailed)
	c.must("ROLLBACK")
	equal(t, "rows", c.value("SELECT count(*) FROM x"), "1")

	tx, err := c.BeginTransaction(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Execute(c.ctx(), "COMMIT")
	wants(t, err, fault.InvalidParameter)
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotIsolation(t *testing.T) {
	h := open(t)
	c, other := h.client("ann"), h.client("ann")
	c.must("CREATE TABLE x (i INTEGER)")
	c.must("SET vega.isolation = 'snapshot'")
	c.must("BEGIN")
	equal(t, "rows", c.value("SELECT count(*) FROM x"), "0")
	other.must("INSERT INTO x VALUES (1)")
	equal(t, "rows in the snapshot", c.value("SELECT count(*) FROM x"), "0")
	c.must("COMMIT")
	equal(t, "rows", c.value("SELECT count(*) FROM x"), "1")
}

// fakeTransaction sends any id.
type fakeTransaction struct {
	c  *client
	id string
}

func (f fakeTransaction) update(sql string) error {
	cmd, err := anypb.New(&pb.CommandStatementUpdate{Query: sql, TransactionId: []byte(f.id)})
	if err != nil {
		return err
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		return err
	}
	stream, err := f.c.Client.Client.DoPut(f.c.ctx())
	if err != nil {
		return err
	}
	if err := stream.Send(&flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: data}}); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

// Drivers keep a prepared statement over the end of the transaction in which they prepared it.
func TestPreparedStatementsOutliveTheirTransaction(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE x (i INTEGER)")
	begin := func() *flightsql.Txn {
		tx, err := c.BeginTransaction(c.ctx())
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := begin()
	count, err := tx.Prepare(c.ctx(), "SELECT count(*) FROM x")
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.Prepare(c.ctx(), "INSERT INTO x VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	run := func(what, want string) {
		t.Helper()
		if _, err := insert.ExecuteUpdate(c.ctx()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		rows, err := c.run(count)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		equal(t, what, rows[0][0], want)
	}
	run("in its transaction", "1")
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
	run("in none", "1")
	tx = begin()
	run("in another", "2")
	if err := tx.Rollback(c.ctx()); err != nil {
		t.Fatal(err)
	}
	equal(t, "in the end", c.value("SELECT count(*) FROM x"), "1")

	// A transaction that the server has given up is not replaced by none.
	c.must("SET vega.isolation = 'snapshot'")
	tx = begin()
	insert, err = tx.Prepare(c.ctx(), "INSERT INTO x VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	run("before it is lost", "2")
	h.svc.expire(time.Now().Add(h.svc.limits.TransactionIdle + time.Second))
	_, err = insert.ExecuteUpdate(c.ctx())
	wants(t, err, fault.TransactionUnknown)
}
