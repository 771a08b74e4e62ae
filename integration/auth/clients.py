"""Logs in every way. usage: python clients.py PLAIN_URI TLS_URI CERTIFICATE (user ann, password "secret", API key k1 of robot)"""

import sys

import adbc_driver_flightsql.dbapi as dbapi
import pyarrow.flight as fl
from adbc_driver_flightsql import DatabaseOptions

PLAIN, TLS, CERTIFICATE = sys.argv[1:4]


def refused(call, *words):
    try:
        call()
    except Exception as e:
        assert all(w in str(e) for w in words), e
        return
    raise AssertionError("nothing was refused")


def ask(client, options):
    """Any call that needs a caller."""
    return [a.type for a in client.list_actions(options)]


class Payload(fl.ClientAuthHandler):
    """The older handshake: credentials in its payload, a token back."""

    def __init__(self, user, password):
        super().__init__()
        self.basic, self.token = fl.BasicAuth(user, password), b""

    def authenticate(self, outgoing, incoming):
        outgoing.write(self.basic.serialize())
        self.token = incoming.read()

    def get_token(self):
        return self.token


def pyarrow():
    client = fl.connect(PLAIN)
    refused(lambda: ask(client, None), "UNAUTHENTICATED")
    name, value = client.authenticate_basic_token("ann", "secret")
    assert name == b"authorization" and value.startswith(b"Bearer "), (name, value)
    assert "vega.cancel_job" in ask(client, fl.FlightCallOptions(headers=[(name, value)]))
    refused(lambda: fl.connect(PLAIN).authenticate_basic_token("ann", "wrong"), "UNAUTHENTICATED")
    old = fl.connect(PLAIN)
    old.authenticate(Payload("ann", "secret"))
    assert ask(old, None)
    refused(lambda: fl.connect(PLAIN).authenticate(Payload("ann", "wrong")), "UNAUTHENTICATED")
    assert ask(client, fl.FlightCallOptions(headers=[(b"x-api-key", b"k1")]))
    both = [(b"x-api-key", b"k1"), (name, value)]
    refused(lambda: ask(client, fl.FlightCallOptions(headers=both)), "UNAUTHENTICATED", "both")
    with open(CERTIFICATE, "rb") as f:
        roots = f.read()
    secure = fl.connect(TLS, tls_root_certs=roots)
    assert ask(secure, fl.FlightCallOptions(headers=[secure.authenticate_basic_token("ann", "secret")]))
    refused(lambda: fl.connect(TLS).authenticate_basic_token("ann", "secret"))


def one(uri, **kwargs):
    with dbapi.connect(uri, db_kwargs=kwargs) as conn, conn.cursor() as cursor:
        cursor.execute("SELECT 42 AS a")
        assert cursor.fetchall() == [(42,)]


def adbc():
    one(PLAIN, username="ann", password="secret")
    refused(lambda: one(PLAIN, username="ann", password="wrong"), "UNAUTHENTICATED")
    one(PLAIN, **{"adbc.flight.sql.rpc.call_header.x-api-key": "k1"})
    one(PLAIN, **{DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer k1"})
    refused(lambda: one(PLAIN), "UNAUTHENTICATED")
    with open(CERTIFICATE) as f:
        one(TLS, username="ann", password="secret", **{DatabaseOptions.TLS_ROOT_CERTS.value: f.read()})


pyarrow()
adbc()
print("ok")
