# SPDX-License-Identifier: Apache-2.0
"""What the service sends to MariaDB is MySQL 8's SQL, too. No server of that can be had here.

The two differ in reserved words, in functions, and in a few clauses. All texts are checked as they
are sent, and as SQLAlchemy writes the same statements for MySQL 8.
"""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from unittest import mock

import pymysql
import sqlglot
from sqlalchemy import Executable, event
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql
from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.engine import Engine
from sqlglot import exp

from tests.placement.client import Client
from tests.races.arena import Arena, prepare
from tests.races.writes import WRITES
from trueup.placement.api.routes import EVERY_ROUTE
from trueup.placement.app import make_app
from trueup.placement.index.view.verify import verify
from trueup.placement.store import fsck, migrations
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, RowsStatement

NOAUTH = {"api": {"auth_strategy": "noauth2"}, "placement_database": {"sync_on_startup": True}}
RESERVED_LATER = frozenset({"intersect", "library", "manual", "parallel", "qualify", "tablesample"})
"""Words that MySQL reserved after the list of SQLAlchemy was made."""
FUNCTIONS = frozenset(
    {
        *("cast", "coalesce", "concat", "connection_id", "count", "database", "get_lock"),
        *("group_concat", "if", "ifnull", "max", "min", "release_lock", "round", "sha2", "sum"),
        "version",
    }
)
"""Those of MySQL 8's manual that we use."""
NO_FUNCTIONS = frozenset({"char", "decimal", "key", "varchar"})
CALLED = re.compile(r"(\w+)\(")
LITERAL = re.compile(r"'(?:[^'\\]|''|\\.)*'|`[^`]*`")
CANDIDATES = (
    "resources=VCPU:1",
    "resources=VCPU:1&required=CUSTOM_WORN_OF_1,!CUSTOM_FREE_OF_1&limit=2",
    "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate",
)
PROVIDERS = (
    f"resources=VCPU:1&in_tree={Arena(1).uuid('root')}&required=!HW_GPU_API_DXVA",
    f"name=x&member_of=in:{Arena(1).uuid('one')},{Arena(1).uuid('two')}",
)


@contextmanager
def collected() -> Iterator[tuple[list[str], list[Executable]]]:
    """The texts that are sent meanwhile, and what SQLAlchemy made them of."""
    sent: list[str] = []
    made: list[Executable] = []
    send = pymysql.connections.Connection.query
    initialize = MySQLDialect_pymysql.initialize

    def query(connection, sql, unbuffered=False):
        sent.append(sql if isinstance(sql, str) else sql.decode())
        return send(connection, sql, unbuffered)

    def note(_connection, element, *_rest) -> None:
        made.append(element)

    def connect(dialect, connection) -> None:
        initialize(dialect, connection)
        dialect.delete_returning = dialect.insert_returning = False

    event.listen(Engine, "before_execute", note)
    try:
        with (
            mock.patch.object(pymysql.connections.Connection, "query", query),
            mock.patch.object(MySQLDialect_pymysql, "initialize", connect),
        ):
            yield sent, made
    finally:
        event.remove(Engine, "before_execute", note)


def everything_is_asked(url: str) -> None:
    """Each route of the API, with each write of the races."""
    with closing(make_app(url, NOAUTH)) as application:
        prepare(url, [Arena(number) for number in range(1, 1 + len(WRITES))])
        client = Client(application)
        for number, write in enumerate(WRITES.values(), 1):
            call = write(Arena(number))
            body = None if call.text is None else call.text.encode()
            client.send(call.method, call.path, body, version=call.version)
        known = {"uuid": Arena(1).uuid("root"), "consumer_uuid": Arena(1).uuid("tenant")}
        known |= {"name": "VCPU", "resource_class": "VCPU"}
        for route in EVERY_ROUTE:
            if route.method == "GET":
                client.get(route.url.format(**known))
        for query in CANDIDATES:
            assert client.get(f"/allocation_candidates?{query}").status == 200
        for query in PROVIDERS:
            assert client.get(f"/resource_providers?{query}").status == 200
        assert client.get("/usages?project_id=x&user_id=y&consumer_type=all").status == 200


def test_all_of_it_is_mysql(fresh_database: Callable[[str], str]) -> None:
    url = fresh_database("mariadb")
    with collected() as (sent, made):
        everything_is_asked(url)
        with closing(Database(url)) as database:
            fsck.examine(database)
            verify(database, 0.0)
            database.forget_unused_writers(changes.forget_unused)
            migrations.detach(database)
    texts = {*sent, *map(_for_mysql, made), *_kept_for_later()}
    assert len(texts) > 300
    wrong = {problem for text in texts for problem in _problems(text)}
    assert wrong == set()


def _kept_for_later() -> Iterator[str]:
    """The statements whose text is made once, whether this test has sent them or not."""
    for kept in gc.get_objects():
        # By its type: a weak reference of another test may stand for an object that is gone.
        kind = type(kept)
        if kind is FixedStatement:
            made = kept._statement
        elif kind is ListStatement:
            made = kept._new(3)._statement
        elif kind is RowsStatement:
            made = kept._new(2)._statement
        else:
            continue
        # Those are sent only where SQLAlchemy knows that the server has RETURNING.
        if not getattr(made, "_returning", ()):
            yield _for_mysql(made)


def _for_mysql(made: Executable) -> str:
    dialect = MySQLDialect_pymysql(paramstyle="qmark")
    dialect.server_version_info, dialect.is_mariadb = (8, 0, 36), False
    dialect.use_mysql_for_share = True
    compiled = made.compile(dialect=dialect)
    if compiled.params is None:
        return str(compiled)
    return compiled.construct_expanded_state(compiled.params).statement


def _problems(text: str) -> Iterator[str]:
    """What MySQL 8 would refuse."""
    try:
        trees = sqlglot.parse(text, dialect="mysql")
    except sqlglot.errors.SqlglotError as error:
        yield f"{error}: {text}"
        return
    for tree in trees:
        # A command is what the grammar does not know.
        if tree.find(exp.Returning, exp.Command):
            yield f"not of MySQL: {text}"
        for word in tree.find_all(exp.Identifier):
            if not word.quoted and word.name.lower() in RESERVED_WORDS_MYSQL | RESERVED_LATER:
                yield f"{word.name} is reserved: {text}"
    called = {name.lower() for name in CALLED.findall(LITERAL.sub("", text))}
    for name in called - FUNCTIONS - NO_FUNCTIONS:
        yield f"{name} is no function that we know: {text}"


def test_what_mysql_lacks_is_found() -> None:
    for text in (
        "DELETE FROM allocations WHERE id = 1 RETURNING id",
        "SELECT rank FROM traits",
        "SELECT 1 AS lateral",
        "SELECT json_detailed(name) FROM traits",
        "SELECT FROM WHERE",
    ):
        assert list(_problems(text)), text
