# SPDX-License-Identifier: Apache-2.0
"""A database's schema as a value that can be compared, and upstream's own ways of making one."""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.servers.upstream import upstream_url

SCRIPTS = Path(sysconfig.get_path("scripts"))


def schema_of(url: str) -> dict[str, Any]:
    """Tables by name: columns, keys, constraints and indexes. Ours are left out."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    look = sqlalchemy.inspect(engine)
    return {
        name: {
            "columns": {str(column["name"]): described(column) for column in columns},
            "key": look.get_pk_constraint(name)["constrained_columns"],
            "references": in_order(look.get_foreign_keys(name)),
            "unique": in_order(look.get_unique_constraints(name)),
            "indexes": in_order(look.get_indexes(name)),
        }
        for name in look.get_table_names()
        if not name.startswith("trueup_")
        for columns in [look.get_columns(name)]
    }


def rows_of(url: str, without: tuple[str, ...] = ()) -> dict[str, list[tuple]]:
    """Every row of every table, but for these tables and ours."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
            if table.name not in without and not table.name.startswith("trueup_")
        }


def described(column: Any) -> tuple:
    named = ("nullable", "default", "autoincrement")
    return (str(column["type"]), *(column.get(one) for one in named))


def in_order(constraints: Any) -> list[str]:
    """Their names are compared too; only what the dialect says of itself is not."""
    shown = (sorted((k, str(v)) for k, v in one.items() if v) for one in constraints)
    return sorted(map(str, shown))


def upstream_command(script: str, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run placement-manage or placement-status."""
    return run([str(SCRIPTS / script), *words], upstream_url(url))


def trueup_command(script: str, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run trueup-manage or trueup-status."""
    return run([str(SCRIPTS / script), *words], url)


def run(command: list[str], url: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OS_PLACEMENT_DATABASE__CONNECTION": url,
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
