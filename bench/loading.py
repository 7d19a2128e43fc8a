# SPDX-License-Identifier: Apache-2.0
"""Loads rows into an empty database, as fast as its driver can."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from bench.cloud import COLUMNS, Cloud, Row
from tests.servers.upstream import upstream_url

_STAMP = "2026-01-01 00:00:00"


def load(url: str, cloud: Cloud) -> None:
    """Create upstream's tables, load the rows of a cloud, and update the planner's statistics."""
    _create_tables(url)
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    backend = engine.dialect.name
    with engine.begin() as connection:
        if backend == "mysql":
            connection.exec_driver_sql(
                "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', unique_checks = 0, foreign_key_checks = 0"
            )
        for table, columns in COLUMNS.items():
            _insert(connection, table, columns, cloud.rows[table])
            if backend == "postgresql" and columns[0] == "id":
                _move_sequence(connection, table)
    _analyze(engine)


def configuration(folder: Path, url: str) -> Mapping[str, str]:
    """The environment variables for either service: this database, and no authentication."""
    (folder / "placement.conf").touch()
    return {
        "OS_PLACEMENT_CONFIG_DIR": str(folder),
        "OS_PLACEMENT_DATABASE__CONNECTION": url,
        "OS_PLACEMENT_DATABASE__MAX_POOL_SIZE": "25",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }


def program(name: str) -> str:
    """A program of the virtual environment that runs this one."""
    return str(Path(sys.executable).with_name(name))


def _create_tables(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [program("placement-manage"), "db", "sync"],
            env={**os.environ, **configuration(Path(folder), upstream_url(url))},
            check=True,
            capture_output=True,
        )


def _insert(connection: Any, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    backend = connection.dialect.name
    names = ", ".join((*columns, "created_at"))
    if not rows:
        return
    if backend == "postgresql":
        with connection.connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row((*row, _STAMP))
        return
    mark = "?" if backend == "sqlite" else "%s"
    marks = ", ".join([mark] * (len(columns) + 1))
    stamped = [(*row, _STAMP) for row in rows]
    connection.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", stamped)


def _move_sequence(connection: Any, table: str) -> None:
    connection.exec_driver_sql(
        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
        f"(SELECT GREATEST(MAX(id), 1) FROM {table}))"
    )


def _analyze(engine: sqlalchemy.Engine) -> None:
    statements = {
        "mysql": f"ANALYZE TABLE {', '.join(COLUMNS)}",
        "postgresql": "VACUUM ANALYZE",
        "sqlite": "ANALYZE",
    }
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        found = connection.exec_driver_sql(statements[engine.dialect.name])
        if found.returns_rows:
            found.all()


def backend_of(url: str) -> str:
    """mysql, postgresql or sqlite."""
    return make_url(url).get_backend_name()
