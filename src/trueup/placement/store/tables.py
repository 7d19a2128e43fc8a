# SPDX-License-Identifier: Apache-2.0
"""The tables, column for column, index for index and constraint for constraint as upstream."""

from datetime import datetime

from oslo_utils.timeutils import utcnow
from sqlalchemy import (
    Column,
    ColumnElement,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Unicode,
    UniqueConstraint,
    func,
    text,
)

metadata = MetaData()


def _time_columns() -> tuple[Column[datetime], Column[datetime]]:
    return (
        Column("created_at", DateTime, default=utcnow),
        Column("updated_at", DateTime, onupdate=utcnow),
    )


def _names_table(table: str, column: Column[str]) -> Table:
    """A table of names with ids."""
    return Table(
        table,
        metadata,
        *_time_columns(),
        Column("id", Integer, primary_key=True, autoincrement=True),
        column,
        UniqueConstraint(column.name, name=f"uniq_{table}0{column.name}"),
    )


resource_classes = _names_table("resource_classes", Column("name", String(255), nullable=False))
traits = _names_table("traits", Column("name", Unicode(255), nullable=False))
consumer_types = _names_table("consumer_types", Column("name", Unicode(255), nullable=False))
projects = _names_table("projects", Column("external_id", String(255), nullable=False))
users = _names_table("users", Column("external_id", String(255), nullable=False))
aggregates = _names_table("placement_aggregates", Column("uuid", String(36)))

providers = Table(
    "resource_providers",
    metadata,
    *_time_columns(),
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False),
    Column("name", Unicode(200)),
    Column("generation", Integer, default=0),
    Column("root_provider_id", Integer),
    Column("parent_provider_id", Integer),
    # PARITY: they have no names, and MySQL numbers them in their order.
    ForeignKeyConstraint(["parent_provider_id"], ["resource_providers.id"]),
    ForeignKeyConstraint(["root_provider_id"], ["resource_providers.id"]),
    UniqueConstraint("name", name="uniq_resource_providers0name"),
    UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
)
# PARITY: the schema permits a NULL generation. Answers show it as null; writes count it as 0.
GENERATION: ColumnElement[int] = func.coalesce(providers.c.generation, 0)
"""The generation of a provider, for writes."""

inventories = Table(
    "inventories",
    metadata,
    *_time_columns(),
    Column("id", Integer, primary_key=True),
    Column("resource_provider_id", Integer, nullable=False),
    Column("resource_class_id", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("min_unit", Integer, nullable=False),
    Column("max_unit", Integer, nullable=False),
    Column("step_size", Integer, nullable=False),
    Column("allocation_ratio", Float, nullable=False),
    UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    Index("inventories_resource_class_id_idx", "resource_class_id"),
)

allocations = Table(
    "allocations",
    metadata,
    *_time_columns(),
    Column("id", Integer, primary_key=True),
    Column("resource_provider_id", Integer, nullable=False),
    Column("consumer_id", String(36), nullable=False),
    Column("resource_class_id", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    Index("allocations_resource_class_id_idx", "resource_class_id"),
    Index("allocations_consumer_id_idx", "consumer_id"),
)

consumers = Table(
    "consumers",
    metadata,
    *_time_columns(),
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("uuid", String(36), nullable=False),
    Column("project_id", Integer, nullable=False),
    Column("user_id", Integer, nullable=False),
    Column("generation", Integer, nullable=False, server_default=text("0"), default=0),
    Column(
        "consumer_type_id",
        Integer,
        ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
    ),
    UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    Index("consumers_consumer_type_id_idx", "consumer_type_id"),
)

provider_aggregates = Table(
    "resource_provider_aggregates",
    metadata,
    *_time_columns(),
    Column("resource_provider_id", Integer, primary_key=True, autoincrement=False),
    Column("aggregate_id", Integer, primary_key=True, autoincrement=False),
    Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)

provider_traits = Table(
    "resource_provider_traits",
    metadata,
    *_time_columns(),
    Column("trait_id", Integer, primary_key=True, autoincrement=False),
    Column("resource_provider_id", Integer, primary_key=True, autoincrement=False),
    ForeignKeyConstraint(["resource_provider_id"], ["resource_providers.id"]),
    ForeignKeyConstraint(["trait_id"], ["traits.id"]),
    Index(
        "resource_provider_traits_resource_provider_trait_idx", "resource_provider_id", "trait_id"
    ),
)

alembic_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), primary_key=True),
)
