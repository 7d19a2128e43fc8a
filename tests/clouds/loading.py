# SPDX-License-Identifier: Apache-2.0
"""Loads a recording into databases on a server, with cell mappings that lead to them."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import pymysql
import sqlalchemy
from pymysql.constants import CLIENT
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.clouds import recordings
from tests.servers.databases import DatabaseServer, as_text


@contextlib.contextmanager
def loaded_databases(
    cloud: str, names: Iterable[str], server: DatabaseServer
) -> Iterator[Mapping[str, str]]:
    """The URL of each database, by the name it had when it was recorded; dropped at the end."""
    with contextlib.ExitStack() as dropped_at_the_end:
        urls = {}
        for name in names:
            urls[name] = load(cloud, name, server)
            dropped_at_the_end.callback(server.drop_database, urls[name])
        yield urls


def load(cloud: str, database: str, server: DatabaseServer) -> str:
    """The URL of a new database, filled with the recording."""
    url = server.create_database(f"{cloud.replace('-', '_')}_{database}")
    send(recordings.dump(cloud, database), url)
    return url


def nova_url(url: str) -> str:
    """As Nova's documents write a connection: with the character set behind it."""
    return as_text(make_url(url).update_query_dict({"charset": "utf8"}))


def keep_alive(cell_url: str, binary: str = "nova-conductor") -> None:
    """Let these services of the cell report for as long as tests run: the recording stands still,
    as a replica does that lags behind.
    """
    statement = "UPDATE services SET last_seen_up = :never_old WHERE services.binary = :binary"
    engine = sqlalchemy.create_engine(cell_url, poolclass=NullPool)
    with engine.begin() as connection:
        never_old = datetime(2100, 1, 1)
        connection.execute(sqlalchemy.text(statement), {"never_old": never_old, "binary": binary})


def map_cell(nova_api_url: str, cell: str, database_connection: str) -> None:
    """Let the cell's mapping name this database."""
    statement = "UPDATE cell_mappings SET database_connection = :url WHERE name = :cell"
    engine = sqlalchemy.create_engine(nova_api_url, poolclass=NullPool)
    with engine.begin() as connection:
        changed = connection.execute(
            sqlalchemy.text(statement), {"url": database_connection, "cell": cell}
        )
        if changed.rowcount != 1:
            raise LookupError(f"there is no one cell with the name {cell}")


def send(dump: str, url: str) -> None:
    """Not through SQLAlchemy: it has no door for a text of many statements."""
    parts = make_url(url)
    connection = pymysql.connect(
        host=parts.host,
        port=parts.port or 3306,
        user=parts.username,
        password=parts.password,
        database=parts.database,
        client_flag=CLIENT.MULTI_STATEMENTS,
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(dump)
        while cursor.nextset():
            pass
        connection.commit()
