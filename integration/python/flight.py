"""pyarrow's Flight client, which knows no Flight SQL: its messages are written by hand."""

import json

import pyarrow as pa
import pyarrow.flight as fl

from harness import URI, raises, run

TYPES = "type.googleapis.com/arrow.flight.protocol.sql."


def varint(n):
    out = b""
    while True:
        n, low = n >> 7, n & 0x7F
        if not n:
            return out + bytes([low])
        out += bytes([low | 0x80])


def field(number, value):
    if isinstance(value, bool) or isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(kind, *fields):
    """A Flight SQL message in its Any."""
    body = b"".join(field(n, v) for n, v in fields)
    return field(1, TYPES + kind) + field(2, body)


def fields(data):
    """The length-delimited and number fields of a message."""
    out, i = {}, 0

    def number():
        nonlocal i
        n = shift = 0
        while True:
            b = data[i]
            i += 1
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return n

    while i < len(data):
        key = number()
        if key & 7 == 2:
            size = number()
            value, i = data[i : i + size], i + size
        else:
            value = number()
        out.setdefault(key >> 3, []).append(value)
    return out


class Client:
    def __init__(self):
        self.flight = fl.connect(URI)
        self.options = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.flight.close()

    def info(self, command):
        return self.flight.get_flight_info(fl.FlightDescriptor.for_command(command))

    def table(self, info):
        assert len(info.endpoints) == 1, info.endpoints
        reader = self.flight.do_get(info.endpoints[0].ticket)
        table = reader.read_all()
        assert table.schema.equals(info.schema), (table.schema, info.schema)
        return table

    def query(self, sql, tx=b""):
        return self.table(self.info(message("CommandStatementQuery", (1, sql), *([(2, tx)] if tx else []))))

    def put(self, command, table):
        writer, reader = self.flight.do_put(fl.FlightDescriptor.for_command(command), table.schema)
        writer.write_table(table)
        writer.done_writing()
        answer = reader.read()
        writer.close()
        return fields(answer.to_pybytes()) if answer is not None else {}

    def update(self, sql, tx=b""):
        answer = self.put(message("CommandStatementUpdate", (1, sql), *([(2, tx)] if tx else [])), pa.table({}))
        return answer.get(1, [0])[0]

    def action(self, kind, body=b""):
        return [r.body.to_pybytes() for r in self.flight.do_action(fl.Action(kind, body))]


def unpack(any_bytes):
    """The message in an Any."""
    return fields(fields(any_bytes)[2][0])


def case_query():
    with Client() as c:
        assert c.query("SELECT 1 AS a, 'x' AS b").to_pylist() == [{"a": 1, "b": "x"}]
        assert c.query("SELECT i FROM range(200000) t(i)").num_rows == 200000


def case_result_is_read_once():
    with Client() as c:
        info = c.info(message("CommandStatementQuery", (1, "SELECT 1 AS a")))
        c.table(info)
        raises("QUERY_HANDLE_NOT_FOUND", c.table, info)
        raises("QUERY_HANDLE_NOT_FOUND", lambda: c.flight.do_get(fl.Ticket(message("TicketStatementQuery", (1, b"vqr_guess")))).read_all())


def case_update_counts():
    with Client() as c:
        c.update("CREATE TABLE pf (i INTEGER)")
        assert c.update("INSERT INTO pf VALUES (1), (2)") == 2
        assert c.update("DELETE FROM pf WHERE i = 1") == 1
        assert c.query("INSERT INTO pf VALUES (3)").to_pylist() == [{"Count": 1}]
        assert c.query("SELECT count(*) AS n FROM pf").to_pylist() == [{"n": 2}]


def case_prepared_statement():
    with Client() as c:
        answer = unpack(c.action("CreatePreparedStatement", message("ActionCreatePreparedStatementRequest", (1, "SELECT ?::BIGINT + 1 AS n")))[0])
        handle = answer[1][0]
        schema = pa.ipc.read_schema(pa.py_buffer(answer[2][0]))
        assert schema.names == ["n"] and schema.field("n").type == pa.int64(), schema
        params = pa.ipc.read_schema(pa.py_buffer(answer[3][0]))
        assert [f.type for f in params] == [pa.int64()], params
        assert answer[4] == [0] if 4 in answer else True  # is_update = false
        command = message("CommandPreparedStatementQuery", (1, handle))
        bound = c.put(command, pa.table({"1": pa.array([41], pa.int64())}))[1][0]
        assert bound != handle
        assert c.table(c.info(message("CommandPreparedStatementQuery", (1, bound)))).to_pylist() == [{"n": 42}]
        newer = c.put(command, pa.table({"1": pa.array([1], pa.int64())}))[1][0]
        raises("stale", c.info, message("CommandPreparedStatementQuery", (1, bound)))
        assert c.table(c.info(message("CommandPreparedStatementQuery", (1, newer)))).to_pylist() == [{"n": 2}]
        # A client that ignores new handles means the last binding.
        assert c.table(c.info(command)).to_pylist() == [{"n": 2}]
        c.action("ClosePreparedStatement", message("ActionClosePreparedStatementRequest", (1, newer)))
        raises("QUERY_HANDLE_NOT_FOUND", c.info, command)


def case_prepare_tells_updates():
    with Client() as c:
        c.update("CREATE TABLE pu (i INTEGER)")

        def prepared(sql):
            return unpack(c.action("CreatePreparedStatement", message("ActionCreatePreparedStatementRequest", (1, sql)))[0])

        update = prepared("INSERT INTO pu VALUES (?)")
        assert update[4] == [1] and pa.ipc.read_schema(pa.py_buffer(update[2][0])).names == []
        ours = prepared("REFRESH MATERIALIZED VIEW nothing_yet")
        assert "job_id" in pa.ipc.read_schema(pa.py_buffer(ours[2][0])).names
        # Preparing did nothing.
        assert c.query("SELECT count(*) AS n FROM pu").to_pylist() == [{"n": 0}]


def case_transaction():
    with Client() as c, Client() as other:
        c.update("CREATE TABLE pt (i INTEGER)")
        tx = unpack(c.action("BeginTransaction", message("ActionBeginTransactionRequest"))[0])[1][0]
        assert c.update("INSERT INTO pt VALUES (1)", tx) == 1
        assert other.query("SELECT count(*) AS n FROM pt").to_pylist() == [{"n": 0}]
        raises("TRANSACTION_NOT_FOUND", other.update, "INSERT INTO pt VALUES (2)", tx)
        raises("TRANSACTION_NOT_FOUND", c.update, "INSERT INTO pt VALUES (2)", b"guess")
        c.action("EndTransaction", message("ActionEndTransactionRequest", (1, tx), (2, 1)))
        assert other.query("SELECT count(*) AS n FROM pt").to_pylist() == [{"n": 1}]
        raises("TRANSACTION_NOT_FOUND", c.update, "INSERT INTO pt VALUES (2)", tx)


def case_metadata():
    with Client() as c:
        c.update("CREATE TABLE pm_a (i INTEGER)")
        c.update("CREATE TABLE pmxa (i INTEGER)")
        assert c.table(c.info(message("CommandGetCatalogs"))).to_pylist() == [{"catalog_name": "lake"}, {"catalog_name": "vega"}]
        tables = c.table(c.info(message("CommandGetTables", (1, "lake"), (3, "pm\\_a"), (5, True)))).to_pylist()
        assert [t["table_name"] for t in tables] == ["pm_a"], tables
        assert pa.ipc.read_schema(pa.py_buffer(tables[0]["table_schema"])).field("i").type == pa.int32()
        assert len(c.table(c.info(message("CommandGetTables", (3, "pm_a"))))) == 2
        assert len(c.table(c.info(message("CommandGetPrimaryKeys", (3, "pm_a"))))) == 0
        assert len(c.table(c.info(message("CommandGetXdbcTypeInfo")))) > 20
        assert len(c.table(c.info(message("CommandGetSqlInfo")))) > 90


def case_garbage_is_refused():
    with Client() as c:
        for command in (b"", b"\x00\xff", b"garbage", message("CommandNobodyKnows", (1, "x"))):
            try:
                c.info(command)
            except (pa.ArrowException, fl.FlightError):
                pass
            else:
                raise AssertionError(f"{command} was taken")
        assert c.query("SELECT 1 AS a").num_rows == 1


def case_subscription_has_metadata():
    with Client() as c:
        c.update("CREATE TABLE ps (i INTEGER)")
        c.update("INSERT INTO ps VALUES (1), (2)")
        c.query("CREATE STREAMING MATERIALIZED VIEW pv WITH (wait_for_ready = true) AS SELECT i FROM ps WHERE i > 1")
        info = c.info(message("CommandStatementQuery", (1, "SUBSCRIBE TO pv WITH (progress = true)")))
        reader = c.flight.do_get(info.endpoints[0].ticket)
        assert reader.schema.equals(info.schema) and reader.schema.names == ["_time", "_weight", "_progress", "i"], reader.schema

        def next_with_rows():
            while True:
                chunk = reader.read_chunk()
                note = json.loads(chunk.app_metadata.to_pybytes())
                if chunk.data.num_rows:
                    return chunk.data.to_pylist(), note

        rows, note = next_with_rows()
        assert rows[0]["_progress"] == note["progress"] == "begin" and "as_of" not in note, (rows, note)
        rows, note = next_with_rows()
        assert [r["i"] for r in rows] == [2] and note["weight"] == 1, (rows, note)
        rows, note = next_with_rows()
        assert note == {"time": rows[0]["_time"], "progress": "end", "last": True, "as_of": rows[0]["_time"]}, (rows, note)
        c.update("INSERT INTO ps VALUES (3), (3)")
        c.update("DELETE FROM ps WHERE i = 2")
        applied, got = note["as_of"], {}
        while got != {2: -1, 3: 2}:
            rows, note = next_with_rows()
            for r in rows:
                if r["_progress"] is None:
                    got[r["i"]] = got.get(r["i"], 0) + r["_weight"]
        # From the same place, it comes once more.
        again = c.query(f"SUBSCRIBE TO pv WITH (as_of = {applied}, up_to = {note['time']})").to_pylist()
        assert sorted((r["i"], r["_weight"]) for r in again) == [(2, -1), (3, 2)], again
        reader.cancel()


run(globals())
