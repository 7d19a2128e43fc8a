# SPDX-License-Identifier: Apache-2.0
"""Consumers may have a type (Xena)."""

import sqlalchemy as sa
from alembic import op

from trueup.placement.store.migrations.resuming import (
    columns_of,
    foreign_keys_of,
    make_index,
    make_table,
)

revision = "422ece571366"
down_revision = "b5c396305c25"

_COLUMN, _KEY = "consumer_type_id", "consumers_consumer_type_id_fkey"


def upgrade() -> None:
    """Make the table of types, and let consumers refer to it."""
    make_table(
        "consumer_types",
        sa.Column("created_at", sa.DateTime()),
        sa.Column("updated_at", sa.DateTime()),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.Unicode(length=255), nullable=False),
        sa.UniqueConstraint("name", name="uniq_consumer_types0name"),
    )
    if _COLUMN not in columns_of("consumers"):
        reference = sa.ForeignKey("consumer_types.id", name=_KEY)
        # SQLite cannot add a foreign key to a table; in a batch, the table is made anew.
        with op.batch_alter_table("consumers") as consumers:
            consumers.add_column(sa.Column(_COLUMN, sa.Integer(), reference))
    elif _KEY not in foreign_keys_of("consumers"):
        op.create_foreign_key(_KEY, "consumers", "consumer_types", [_COLUMN], ["id"])
    make_index("consumers_consumer_type_id_idx", "consumers", [_COLUMN])
