# SPDX-License-Identifier: Apache-2.0
"""Kinds of drift that are planted on an instance that nobody else touches."""

from collections.abc import Callable
from dataclasses import dataclass

from openstack.compute.v2.server import Server

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.damage import delete_by_sql
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.tenant import Ledger, Resources, Tenant

OWN, OTHER = "compute1", "compute2"


@dataclass(frozen=True)
class Planted:
    """The finding that it has to become, and what the ledger holds after the repair.

    `may_heal`: nova-compute releases it itself, with luck before a round looks.
    """

    finding: str
    consumer: str
    right: dict[str, Resources]
    may_heal: bool = False


def deleted_by_sql(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    server = tenant.boot(SMALL, OWN)
    delete_by_sql(cloud, server)
    return Planted(f"orphaned-allocation:{server.id}", server.id, {}, may_heal=True)


def lost(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    server = tenant.boot(SMALL, OWN)
    by_sql(cloud, "DELETE FROM allocations WHERE consumer_id = :uuid", server)
    by_sql(cloud, "DELETE FROM consumers WHERE uuid = :uuid", server)
    return Planted(f"missing-allocation:{server.id}", server.id, {OWN: SMALL.resources})


def on_the_wrong_host(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    server = tenant.boot(SMALL, OWN)
    move = (
        "UPDATE allocations SET resource_provider_id ="
        " (SELECT id FROM resource_providers WHERE name = :other) WHERE consumer_id = :uuid"
    )
    by_sql(cloud, move, server, other=OTHER)
    return Planted(f"wrong-provider:{server.id}", server.id, {OWN: SMALL.resources})


def of_the_wrong_amount(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    server = tenant.boot(SMALL, OWN)
    by_sql(cloud, "UPDATE allocations SET used = used + 1 WHERE consumer_id = :uuid", server)
    return Planted(f"wrong-amount:{server.id}", server.id, {OWN: SMALL.resources})


def doubled(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    server = tenant.boot(TINY, OWN)
    ledger.replace(server.id, {OWN: TINY.resources, OTHER: TINY.resources})
    return Planted(f"doubled-allocation:{server.id}", server.id, {OWN: TINY.resources})


def claimed_by_an_ended_move(cloud: Cloud, tenant: Tenant, ledger: Ledger) -> Planted:
    """A consumer that leaked: the migration is confirmed, and holds the old host again."""
    server = tenant.boot(TINY, OWN)
    tenant.confirm(tenant.resize(server, SMALL))
    [migration] = cloud.connection.compute.migrations(instance_uuid=server.id)
    ledger.claim(migration.uuid, OWN, TINY.resources, "MIGRATION")
    return Planted(f"migration-residue:{server.id}", migration.uuid, {})


Plant = Callable[[Cloud, Tenant, Ledger], Planted]
PLANTS: tuple[Plant, ...] = (
    deleted_by_sql,
    lost,
    on_the_wrong_host,
    of_the_wrong_amount,
    doubled,
    claimed_by_an_ended_move,
)


def by_sql(cloud: Cloud, statement: str, server: Server, **more: str) -> None:
    cloud.sql("placement", statement, uuid=server.id, **more)
