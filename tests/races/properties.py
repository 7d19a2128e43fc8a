# SPDX-License-Identifier: Apache-2.0
"""What must be true of the rows after any requests, asked with SQL of its own."""

from collections.abc import Iterator, Mapping

import sqlalchemy
from sqlalchemy.pool import NullPool

FORBIDDEN: Mapping[str, str] = {
    "an inventory of no provider": """
        SELECT i.id, i.resource_provider_id FROM inventories i
        LEFT JOIN resource_providers p ON p.id = i.resource_provider_id WHERE p.id IS NULL""",
    "an inventory of no class": """
        SELECT p.name, i.resource_class_id FROM inventories i
        LEFT JOIN resource_providers p ON p.id = i.resource_provider_id
        LEFT JOIN resource_classes c ON c.id = i.resource_class_id WHERE c.id IS NULL""",
    "a trait of no provider": """
        SELECT t.resource_provider_id, t.trait_id FROM resource_provider_traits t
        LEFT JOIN resource_providers p ON p.id = t.resource_provider_id WHERE p.id IS NULL""",
    "a provider with a trait that is gone": """
        SELECT t.resource_provider_id, t.trait_id FROM resource_provider_traits t
        LEFT JOIN traits n ON n.id = t.trait_id WHERE n.id IS NULL""",
    "a member of an aggregate that is no provider": """
        SELECT m.resource_provider_id, m.aggregate_id FROM resource_provider_aggregates m
        LEFT JOIN resource_providers p ON p.id = m.resource_provider_id WHERE p.id IS NULL""",
    "a member of no aggregate": """
        SELECT m.resource_provider_id, m.aggregate_id FROM resource_provider_aggregates m
        LEFT JOIN placement_aggregates a ON a.id = m.aggregate_id WHERE a.id IS NULL""",
    "an allocation without its inventory": """
        SELECT p.name, a.resource_provider_id, a.consumer_id, a.used FROM allocations a
        LEFT JOIN resource_providers p ON p.id = a.resource_provider_id
        LEFT JOIN inventories i ON i.resource_provider_id = a.resource_provider_id
             AND i.resource_class_id = a.resource_class_id
        WHERE p.id IS NULL OR i.id IS NULL""",
    "an allocation of no consumer": """
        SELECT a.resource_provider_id, a.consumer_id FROM allocations a
        LEFT JOIN consumers c ON c.uuid = a.consumer_id WHERE c.id IS NULL""",
    "a consumer that holds nothing": """
        SELECT c.uuid FROM consumers c
        LEFT JOIN allocations a ON a.consumer_id = c.uuid WHERE a.id IS NULL""",
    "a consumer of no project, user or type": """
        SELECT c.uuid, c.project_id, c.user_id, c.consumer_type_id FROM consumers c
        LEFT JOIN projects p ON p.id = c.project_id LEFT JOIN users u ON u.id = c.user_id
        LEFT JOIN consumer_types t ON t.id = c.consumer_type_id
        WHERE p.id IS NULL OR u.id IS NULL OR (c.consumer_type_id IS NOT NULL AND t.id IS NULL)""",
    "more in use than there is": """
        SELECT p.name, u.used, i.total FROM inventories i
        JOIN (SELECT resource_provider_id, resource_class_id, SUM(used) AS used FROM allocations
              GROUP BY resource_provider_id, resource_class_id) u
          ON u.resource_provider_id = i.resource_provider_id
         AND u.resource_class_id = i.resource_class_id
        JOIN resource_providers p ON p.id = i.resource_provider_id
        WHERE u.used > (i.total - i.reserved) * i.allocation_ratio""",
}
"""Each finds the rows that break one rule."""

PLACES = "SELECT id, name, parent_provider_id, root_provider_id FROM resource_providers"


def broken(url: str) -> list[str]:
    """A line for each row that breaks a rule; at a Galera node, of all that was acknowledged."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        if engine.dialect.name == "mysql":
            connection.exec_driver_sql("SET SESSION wsrep_sync_wait = 1")
        found = [
            f"{rule}: {tuple(row)}"
            for rule, query in FORBIDDEN.items()
            for row in connection.execute(sqlalchemy.text(query))
        ]
        rows = connection.execute(sqlalchemy.text(PLACES)).all()
    return found + list(_misplaced({row.id: row for row in rows}))


def uuids(url: str) -> set[str]:
    """The UUIDs of all providers and consumers."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    query = "SELECT uuid FROM resource_providers UNION SELECT uuid FROM consumers"
    with engine.connect() as connection:
        return set(connection.scalars(sqlalchemy.text(query)))


def _misplaced(places: Mapping[int, sqlalchemy.Row]) -> Iterator[str]:
    for place in places.values():
        seen, top = {place.id}, place
        while top.parent_provider_id is not None and top.parent_provider_id in places:
            top = places[top.parent_provider_id]
            if top.id in seen:
                yield f"its own ancestor: {place.name}"
                break
            seen.add(top.id)
        else:
            if top.parent_provider_id is not None:
                yield f"below nothing: {place.name}"
            elif place.root_provider_id != top.id:
                yield f"a wrong root: {place.name}"
