"""Another program on the lake: runs the statements that it is given, one a line of JSON, each in a transaction of its own."""

import json
import sys

import duckdb

con = duckdb.connect()
spec = json.loads(sys.stdin.readline())
for path in spec["load"]:
    con.execute(f"LOAD '{path}'")
for sql in spec["begin"]:
    con.execute(sql)
con.execute("USE lake")
print("ready", flush=True)
for line in sys.stdin:
    try:
        con.execute(json.loads(line))
        print("ok", flush=True)
    except Exception as e:
        print("failed: " + str(e).replace("\n", " "), flush=True)
