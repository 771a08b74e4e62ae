"""The servers that a script is given: usage: python SCRIPT PLAIN_URI TLS_URI CERTIFICATE. User ann has the password "secret", robot the API key "k1"."""

import sys

import adbc_driver_flightsql.dbapi as flightsql
from adbc_driver_flightsql import DatabaseOptions

PLAIN, TLS, CERTIFICATE = sys.argv[1:4]
HOST = PLAIN.removeprefix("grpc://")
SECURE_HOST = TLS.removeprefix("grpc+tls://")


def certificate():
    with open(CERTIFICATE) as f:
        return f.read()


def login():
    """ADBC's options for a login of ann over TLS."""
    return {"username": "ann", "password": "secret", DatabaseOptions.TLS_ROOT_CERTS.value: certificate()}


def connect(**kwargs):
    return flightsql.connect(TLS, db_kwargs=login(), autocommit=True, **kwargs)


def snapshot(cursor):
    cursor.execute("SELECT id FROM lake.current_snapshot()")
    return cursor.fetchone()[0]


def rows(cursor, sql, *parameters):
    cursor.execute(sql, *parameters)
    return cursor.fetchall()
