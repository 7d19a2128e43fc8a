# SPDX-License-Identifier: Apache-2.0
"""The tables against upstream's."""

import pytest
from placement.db.sqlalchemy.models import BASE
from sqlalchemy import Table, UniqueConstraint

from trueup.placement.store.tables import metadata

OURS_ALONE = {"alembic_version"}


def facts(table: Table) -> dict[str, object]:
    return {
        "columns": {
            column.name: (
                str(column.type),
                column.nullable,
                column.primary_key,
                sorted(key.target_fullname for key in column.foreign_keys),
                str(column.server_default.arg) if column.server_default is not None else None,
            )
            for column in table.columns
        },
        "indexes": sorted((i.name, [c.name for c in i.columns], i.unique) for i in table.indexes),
        "unique": sorted(
            (c.name, [column.name for column in c.columns])
            for c in table.constraints
            if isinstance(c, UniqueConstraint)
        ),
    }


def test_there_are_no_other_tables() -> None:
    assert set(metadata.tables) - OURS_ALONE == set(BASE.metadata.tables)


@pytest.mark.parametrize("name", sorted(BASE.metadata.tables))
def test_columns_indexes_and_constraints_are_upstreams(name: str) -> None:
    assert facts(metadata.tables[name]) == facts(BASE.metadata.tables[name])
