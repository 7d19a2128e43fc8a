# SPDX-License-Identifier: Apache-2.0
"""Placement's tables, and queries that leave out the same rows as Placement's API."""

from sqlalchemy import DateTime, Float, Select, and_, column, func, select, table

from trueup.reconcile.sources.placement.contract import SHARING_TRAIT

providers = table(
    "resource_providers",
    *map(column, ("id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id")),
)
resource_classes = table("resource_classes", column("id"), column("name"))
inventories = table(
    "inventories",
    *map(column, ("id", "resource_provider_id", "resource_class_id", "total", "reserved")),
    *map(column, ("min_unit", "max_unit", "step_size")),
    column("allocation_ratio", Float),
)
traits = table("traits", column("id"), column("name"))
aggregates = table("placement_aggregates", column("id"), column("uuid"))
provider_traits = table(
    "resource_provider_traits", column("resource_provider_id"), column("trait_id")
)
provider_aggregates = table(
    "resource_provider_aggregates", column("resource_provider_id"), column("aggregate_id")
)
allocations = table(
    "allocations",
    *map(column, ("id", "resource_provider_id", "resource_class_id", "consumer_id", "used")),
)
allocation_times = (column("created_at", DateTime), column("updated_at", DateTime))
consumers = table("consumers", *map(column, ("id", "uuid", "project_id", "user_id")))
projects = table("projects", column("id"), column("external_id"))
users = table("users", column("id"), column("external_id"))

roots, parents = providers.alias("roots"), providers.alias("parents")
EVERY_PROVIDER: Select[tuple[object, ...]] = (
    select(providers, roots.c.uuid.label("root"), parents.c.uuid.label("parent"))
    .join_from(providers, roots, roots.c.id == providers.c.root_provider_id)
    .outerjoin(parents, parents.c.id == providers.c.parent_provider_id)
)
EVERY_SHARING = (
    select(provider_traits.c.resource_provider_id)
    .join_from(provider_traits, traits, traits.c.id == provider_traits.c.trait_id)
    .where(traits.c.name == SHARING_TRAIT)
)
EVERY_TRAIT = select(provider_traits.c.resource_provider_id, traits.c.name).join_from(
    provider_traits, traits, traits.c.id == provider_traits.c.trait_id
)
EVERY_AGGREGATE = select(
    provider_aggregates.c.resource_provider_id, aggregates.c.uuid.label("name")
).join_from(provider_aggregates, aggregates, aggregates.c.id == provider_aggregates.c.aggregate_id)
EVERY_ALLOCATION = select(allocations).join_from(
    allocations, consumers, consumers.c.uuid == allocations.c.consumer_id
)
# Placement replaces the rows of a consumer, so a write makes new ones.
NEWEST_WRITES = (
    select(
        allocations.c.resource_provider_id,
        func.max(func.coalesce(*reversed(allocation_times))).label("written"),
    )
    .select_from(allocations)
    .group_by(allocations.c.resource_provider_id)
)
EVERY_CONSUMER = (
    select(
        consumers.c.id,
        consumers.c.uuid,
        projects.c.external_id.label("project"),
        users.c.external_id.label("user"),
    )
    .outerjoin_from(consumers, projects, projects.c.id == consumers.c.project_id)
    .outerjoin(users, users.c.id == consumers.c.user_id)
)

# All providers, also those that the API does not list.
ALL_PROVIDERS = select(providers)
CONSUMERLESS_ALLOCATIONS = (
    select(allocations)
    .outerjoin_from(allocations, consumers, consumers.c.uuid == allocations.c.consumer_id)
    .where(consumers.c.uuid.is_(None))
)
_KEY = (
    allocations.c.consumer_id,
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
)
_several = select(*_KEY).group_by(*_KEY).having(func.count() > 1).subquery()
# Rows of consumers that have several rows for the same class of the same provider.
REPEATED_ALLOCATIONS = (
    select(allocations)
    .join_from(
        allocations,
        _several,
        and_(*(column == _several.c[column.name] for column in _KEY)),
    )
    .join(consumers, consumers.c.uuid == allocations.c.consumer_id)
)
_whose = {allocations.name: (allocations.c.consumer_id,)}
# By table and kind: rows that refer to a provider, or to a resource class, that does not exist.
DANGLING_ROWS = {
    **{
        (referring.name, "provider"): select(
            referring.c.resource_provider_id.label("number"), *_whose.get(referring.name, ())
        )
        .outerjoin_from(referring, providers, providers.c.id == referring.c.resource_provider_id)
        .where(providers.c.id.is_(None))
        for referring in (allocations, inventories, provider_traits, provider_aggregates)
    },
    **{
        (referring.name, "resource class"): select(
            referring.c.resource_class_id.label("number"), *_whose.get(referring.name, ())
        )
        .outerjoin_from(
            referring, resource_classes, resource_classes.c.id == referring.c.resource_class_id
        )
        .where(resource_classes.c.id.is_(None))
        for referring in (allocations, inventories)
    },
}
