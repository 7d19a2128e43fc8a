# SPDX-License-Identifier: Apache-2.0
"""The tables as they were when Placement left Nova (Stein)."""

from typing import Any

import sqlalchemy as sa

from trueup.placement.store.migrations.resuming import make_index, make_table

revision = "b4ed3a175331"
down_revision = None


def upgrade() -> None:
    """Make them."""
    _make_names()
    _make_providers()
    _make_what_providers_have()
    _make_consumers()
    _make_indexes()


def _time_columns() -> list[sa.Column[Any]]:
    return [sa.Column("created_at", sa.DateTime()), sa.Column("updated_at", sa.DateTime())]


def _id() -> sa.Column[Any]:
    return sa.Column("id", sa.Integer(), primary_key=True)


def _integer_column(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _unique(table: str, *columns: str, name: str | None = None) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=f"uniq_{table}0{name or columns[0]}")


def _make_names() -> None:
    long_text = sa.String(length=255)
    named = {
        "placement_aggregates": sa.Column("uuid", sa.String(length=36)),
        "projects": sa.Column("external_id", long_text, nullable=False),
        "resource_classes": sa.Column("name", long_text, nullable=False),
        "traits": sa.Column("name", sa.Unicode(length=255), nullable=False),
        "users": sa.Column("external_id", long_text, nullable=False),
    }
    for table, column in named.items():
        make_table(table, *_time_columns(), _id(), column, _unique(table, column.name))


def _make_providers() -> None:
    make_table(
        "resource_providers",
        *_time_columns(),
        _id(),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.Unicode(length=200)),
        sa.Column("generation", sa.Integer()),
        sa.Column("root_provider_id", sa.Integer()),
        sa.Column("parent_provider_id", sa.Integer()),
        # PARITY: they have no names, and MySQL numbers them in their order.
        sa.ForeignKeyConstraint(["parent_provider_id"], ["resource_providers.id"]),
        sa.ForeignKeyConstraint(["root_provider_id"], ["resource_providers.id"]),
        _unique("resource_providers", "name"),
        _unique("resource_providers", "uuid"),
    )


def _make_what_providers_have() -> None:
    make_table(
        "inventories",
        *_time_columns(),
        _id(),
        *(_integer_column(name) for name in ("resource_provider_id", "resource_class_id")),
        *(
            _integer_column(name)
            for name in ("total", "reserved", "min_unit", "max_unit", "step_size")
        ),
        sa.Column("allocation_ratio", sa.Float(), nullable=False),
        _unique(
            "inventories",
            "resource_provider_id",
            "resource_class_id",
            name="resource_provider_resource_class",
        ),
    )
    make_table(
        "resource_provider_aggregates",
        *_time_columns(),
        *(_integer_column(name) for name in ("resource_provider_id", "aggregate_id")),
        sa.PrimaryKeyConstraint("resource_provider_id", "aggregate_id"),
    )
    make_table(
        "resource_provider_traits",
        *_time_columns(),
        *(_integer_column(name) for name in ("trait_id", "resource_provider_id")),
        sa.ForeignKeyConstraint(["resource_provider_id"], ["resource_providers.id"]),
        sa.ForeignKeyConstraint(["trait_id"], ["traits.id"]),
        sa.PrimaryKeyConstraint("trait_id", "resource_provider_id"),
    )


def _make_consumers() -> None:
    make_table(
        "allocations",
        *_time_columns(),
        _id(),
        _integer_column("resource_provider_id"),
        sa.Column("consumer_id", sa.String(length=36), nullable=False),
        *(_integer_column(name) for name in ("resource_class_id", "used")),
    )
    make_table(
        "consumers",
        *_time_columns(),
        _id(),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        *(_integer_column(name) for name in ("project_id", "user_id")),
        sa.Column("generation", sa.Integer(), server_default=sa.text("0"), nullable=False),
        _unique("consumers", "uuid"),
    )


def _make_indexes() -> None:
    for table, name, columns in (
        ("allocations", "resource_class_id", ["resource_class_id"]),
        ("allocations", "consumer_id", ["consumer_id"]),
        (
            "allocations",
            "resource_provider_class_used",
            ["resource_provider_id", "resource_class_id", "used"],
        ),
        ("consumers", "project_id_uuid", ["project_id", "uuid"]),
        ("consumers", "project_id_user_id_uuid", ["project_id", "user_id", "uuid"]),
        ("inventories", "resource_class_id", ["resource_class_id"]),
        ("inventories", "resource_provider_id", ["resource_provider_id"]),
        (
            "inventories",
            "resource_provider_resource_class",
            ["resource_provider_id", "resource_class_id"],
        ),
        ("resource_provider_aggregates", "aggregate_id", ["aggregate_id"]),
        (
            "resource_provider_traits",
            "resource_provider_trait",
            ["resource_provider_id", "trait_id"],
        ),
        ("resource_providers", "name", ["name"]),
        ("resource_providers", "uuid", ["uuid"]),
        ("resource_providers", "root_provider_id", ["root_provider_id"]),
        ("resource_providers", "parent_provider_id", ["parent_provider_id"]),
    ):
        make_index(f"{table}_{name}_idx", table, columns)
    make_index("ix_placement_aggregates_uuid", "placement_aggregates", ["uuid"])
