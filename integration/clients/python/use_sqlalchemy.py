"""SQLAlchemy by the dialect of sqlalchemy-adbc: Core, the ORM, reflection."""

from datetime import datetime, timezone
from decimal import Decimal

import pandas as pd
import sqlalchemy as sa
from harness import raises, run
from server import HOST, SECURE_HOST, connect, login, rows
from sqlalchemy import orm

ENGINE = sa.create_engine(f"adbc+flightsql://{SECURE_HOST}", connect_args={"db_kwargs": login()})
AUTOCOMMIT = sa.create_engine(
    f"adbc+flightsql://{SECURE_HOST}", connect_args={"db_kwargs": login(), "autocommit": True}
)


class Base(orm.DeclarativeBase):
    pass


class Order(Base):
    """The key is the mapper's: the lake's tables have none."""

    __tablename__ = "sa_orders"
    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    amount = sa.Column(sa.Numeric(10, 2))
    sold_at = sa.Column(sa.DateTime(timezone=True))
    note = sa.Column(sa.String)


TABLE = Order.__table__


def case_logins():
    """The password of a URL is a token; user and password are options of the driver."""
    assert sa.create_engine(f"adbc+flightsql://robot:k1@{HOST}?tls=false").connect().execute(sa.text("SELECT 1")).scalar() == 1
    wrong = sa.create_engine(f"adbc+flightsql://{HOST}?tls=false", connect_args={"db_kwargs": {"username": "ann", "password": "wrong"}})
    raises("UNAUTHENTICATED", lambda: wrong.connect().execute(sa.text("SELECT 1")))


def case_ddl():
    raises("PRIMARY KEY", Base.metadata.create_all, ENGINE)
    with ENGINE.begin() as con:
        con.execute(sa.text("CREATE TABLE sa_orders (id INTEGER, amount DECIMAL(10,2), sold_at TIMESTAMPTZ, note VARCHAR)"))
    free = sa.Table("sa_free", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("amount", sa.Numeric(10, 2)))
    free.create(ENGINE)
    assert sa.inspect(ENGINE).has_table("sa_free")
    free.drop(ENGINE)
    assert not sa.inspect(ENGINE).has_table("sa_free")


def case_core():
    when = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    with ENGINE.begin() as con:
        values = [{"id": i, "amount": Decimal(i) / 4, "sold_at": when, "note": None} for i in (1, 2)]
        con.execute(TABLE.insert(), values)
        con.execute(TABLE.insert().values(id=3, amount=Decimal("9.50"), note="x"))
    with ENGINE.connect() as con:
        found = con.execute(sa.select(TABLE.c.id, TABLE.c.amount, TABLE.c.sold_at).where(TABLE.c.note.is_(None)).order_by(TABLE.c.id)).all()
        assert [tuple(r) for r in found] == [(1, Decimal("0.25"), when), (2, Decimal("0.50"), when)], found
        assert con.execute(sa.text("SELECT id FROM sa_orders WHERE amount > :a"), {"a": 1}).scalars().all() == [3]
        raises("OBJECT_NOT_FOUND", con.execute, sa.text("SELECT * FROM sa_nothing"))


def case_transactions():
    with ENGINE.connect() as con:
        con.execute(TABLE.delete())
        con.rollback()
        assert con.execute(sa.select(sa.func.count()).select_from(TABLE)).scalar() == 3
        con.execute(TABLE.delete().where(TABLE.c.id == 3))
        con.commit()
    with connect() as other, other.cursor() as cur:
        assert rows(cur, "SELECT count(*) FROM sa_orders") == [(2,)]


def case_orm():
    with orm.Session(ENGINE) as session:
        session.add(Order(id=4, amount=Decimal("1.00"), note="new"))
        session.commit()
        session.get(Order, 4).note = "changed"
        session.delete(session.get(Order, 1))
        session.commit()
        assert [(o.id, o.note) for o in session.scalars(sa.select(Order).order_by(Order.id))] == [(2, None), (4, "changed")]


def case_reflection():
    inspector = sa.inspect(ENGINE)
    assert inspector.has_table("sa_orders") and "main" in inspector.get_schema_names()
    assert inspector.get_table_names() == []  # the dialect looks for the type "table", and Flight SQL's is "TABLE"
    assert sa.Table("sa_orders", sa.MetaData(), autoload_with=ENGINE).columns.keys() == ["id", "amount", "sold_at", "note"]


def case_views():
    with AUTOCOMMIT.connect() as con:
        con.execute(sa.text("CREATE MATERIALIZED VIEW sa_total AS SELECT sum(amount) AS amount FROM sa_orders")).all()
        assert con.execute(sa.text("REFRESH MATERIALIZED VIEW sa_total")).mappings().one()["mode"] == "no_op"
        assert con.execute(sa.text("SELECT amount FROM sa_total")).scalar() == Decimal("1.50")
        now = con.execute(sa.text("SELECT id FROM lake.current_snapshot()")).scalar()
        changes = con.execute(sa.text(f"SUBSCRIBE TO sa_total WITH (up_to = {now})")).mappings().all()
        assert [c["amount"] for c in changes if c["_progress"] is None] == [Decimal("1.50")], changes


def case_pandas_with_parameters():
    frame = pd.read_sql(sa.text("SELECT id FROM sa_orders WHERE id > :id"), ENGINE, params={"id": 2})
    assert frame["id"].tolist() == [4]


run(globals())
