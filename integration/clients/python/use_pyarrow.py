"""pyarrow's Flight client, which knows no Flight SQL: commands are wrapped by hand, with protobuf's few bytes."""

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.flight as flight
from harness import raises, run
from server import PLAIN, TLS, certificate


def field(number, data):
    """One length-delimited field of a protobuf message."""
    if isinstance(data, str):
        data = data.encode()
    size, out = len(data), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + data


def command(kind, *fields):
    body = b"".join(field(n, v) for n, v in fields)
    return flight.FlightDescriptor.for_command(field(1, f"type.googleapis.com/arrow.flight.protocol.sql.{kind}") + field(2, body))


class Client:
    def __init__(self):
        self.flight = flight.connect(TLS, tls_root_certs=certificate().encode())
        self.headers = [self.flight.authenticate_basic_token("ann", "secret")]
        self.options = flight.FlightCallOptions(headers=self.headers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.flight.close()

    def open(self, sql):
        info = self.flight.get_flight_info(command("CommandStatementQuery", (1, sql)), self.options)
        return self.flight.do_get(info.endpoints[0].ticket, self.options)

    def query(self, sql):
        return self.open(sql).read_all().to_pylist()

    def ingest(self, table, data):
        """Bulk load: CommandStatementIngest with {if_not_exist: create, if_exists: append}."""
        options = bytes([1 << 3, 1, 2 << 3, 2])
        writer, reader = self.flight.do_put(command("CommandStatementIngest", (1, options), (2, table)), data.schema, self.options)
        writer.write_table(data)
        writer.done_writing()
        reader.read()
        writer.close()


def case_logins():
    with Client() as c:
        assert c.query("SELECT 1 AS one") == [{"one": 1}]
    plain = flight.connect(PLAIN)
    key = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer k1")])
    assert plain.get_flight_info(command("CommandStatementQuery", (1, "SELECT 1")), key).endpoints
    raises("UNAUTHENTICATED", plain.get_flight_info, command("CommandStatementQuery", (1, "SELECT 1")))


def case_load_and_types():
    data = pa.table(
        {
            "id": [1, 2],
            "amount": pa.array([Decimal("9.50"), None], pa.decimal128(10, 2)),
            "sold_at": pa.array([1, None], pa.timestamp("us", "UTC")),
            "tags": pa.array([["a", None], None], pa.list_(pa.string())),
            "place": pa.array([{"city": "Oslo"}, None], pa.struct([("city", pa.string())])),
        }
    )
    with Client() as c:
        c.ingest("flight_orders", data)
        assert c.query("SELECT * FROM flight_orders ORDER BY id") == data.to_pylist()
        assert c.query("DELETE FROM flight_orders WHERE id = 2") == [{"Count": 1}]


def case_views_and_subscription():
    with Client() as c:
        c.query("CREATE MATERIALIZED VIEW flight_total AS SELECT sum(amount) AS amount FROM flight_orders")
        assert c.query("REFRESH MATERIALIZED VIEW flight_total")[0]["mode"] == "no_op"
        assert c.query("SELECT * FROM flight_total") == [{"amount": Decimal("9.50")}]
        reader, copy = c.open("SUBSCRIBE TO flight_total"), []
        while True:
            chunk = reader.read_chunk()
            copy += [r["amount"] for r in chunk.data.to_pylist() if r["_progress"] is None]
            note = json.loads(chunk.app_metadata.to_pybytes())
            if note.get("progress") == "end":
                break
        reader.cancel()
        assert copy == [Decimal("9.50")] and note["as_of"] > 0


def case_cancel():
    """A reader that has begun can be cancelled; a query that has no row yet ends with a timeout."""
    with Client() as c:
        reader = c.open("SELECT i FROM range(1000000000000) t(i)")
        assert reader.read_chunk().data.num_rows
        reader.cancel()
        raises("ancel", lambda: list(iter(reader.read_chunk, None)))  # what was sent already comes before
        endless, c.options = c.options, flight.FlightCallOptions(headers=c.headers, timeout=1)
        raises("eadline", c.query, "SELECT sum(sqrt(i * j)) FROM range(3000000) a(i), range(3000000) b(j)")
        c.options = endless
        assert c.query("SELECT 1 AS one") == [{"one": 1}]


def case_errors_name_themselves():
    with Client() as c:
        raises("OBJECT_NOT_FOUND", c.query, "SELECT * FROM nobody_knows")


run(globals())
