# SPDX-License-Identifier: Apache-2.0
"""Server groups in Nova's API database: that of one server, or all."""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import select

from trueup.reconcile.facts import ServerGroup, grouped
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Row, Session
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova import tables


def read_groups(session: Session, source: str) -> tuple[ServerGroup, ...]:
    """Every server group. Raises Unreachable, also if the rules of one are no JSON object."""
    columns = Columns(session, source, tables.LATER)

    def rows(table: Any) -> Iterable[Row]:
        return session.every_row(select(*columns.of(table)), table.c.id)

    policies = {row.group_id: row for row in rows(tables.instance_group_policy)}
    members = grouped(
        (row.group_id, row.instance_uuid) for row in rows(tables.instance_group_member)
    )
    found = []
    for row in rows(tables.instance_groups):
        try:
            found.append(_group(row.uuid, policies.get(row.id), members.get(row.id, ())))
        except (ValueError, TypeError, AttributeError) as error:
            raise Unreachable(source, f"the rules of server group {row.uuid}: {error}") from error
    return tuple(found)


def read_group_of(session: Session, columns: Columns, server: str) -> ServerGroup | None:
    """The server group of an instance: Nova looks for it by its member. Raises ValueError."""
    of_member = tables.instance_group_member
    mine = list(_rows_with(session, columns, of_member, "instance_uuid", server))
    if not mine:
        return None
    number = mine[0].group_id
    [group] = _rows_with(session, columns, tables.instance_groups, "id", number)
    policies = list(_rows_with(session, columns, tables.instance_group_policy, "group_id", number))
    members = _rows_with(session, columns, of_member, "group_id", number)
    return _group(
        group.uuid, policies[0] if policies else None, (row.instance_uuid for row in members)
    )


def _group(uuid: str, policy: Row | None, members: Iterable[str]) -> ServerGroup:
    rules = msgspec.json.decode(policy.rules or "{}") if policy else {}
    return ServerGroup(
        uuid=uuid,
        policy=policy.policy if policy else "",
        members=frozenset(members),
        max_per_host=int(rules.get("max_server_per_host", 1)),
    )


def _rows_with(
    session: Session, columns: Columns, table: Any, key: str, wanted: Any
) -> Iterable[Row]:
    return session.rows_of(select(*columns.of(table)), table.c[key], [wanted])
