# SPDX-License-Identifier: Apache-2.0
"""The simulated cloud as `apply` reads and writes it: in its present state."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

from tests.simulator.changes import Change, Step
from tests.simulator.cloud import Cloud
from tests.simulator.facts_adapter import (
    aggregate_of,
    instance_of,
    migration_of,
    node_of,
    profile_of,
    service_of,
)
from tests.simulator.places import CELLS, HOSTS
from tests.simulator.rows import CellRows, ClaimRow, uuid_of
from trueup.reconcile.facts import Allocations, Holding, InstanceState, Inventory, instance_state
from trueup.reconcile.sources.errors import Unreachable

MINOR = 37
BeforeWrite = Callable[[Step], None]


def holding_of(cloud: Cloud, consumer: str) -> Holding:
    """What Placement answers about a consumer now."""
    claim = cloud.ledger.get(consumer)
    if claim is None:
        return Holding(None, None)
    return Holding(Allocations(claim.amounts, claim.project, claim.user), claim.generation)


class WrittenTo:
    """Stands for `trueup.reconcile.sources.cloud.Cloud`."""

    def __init__(self, cloud: Cloud, before_write: BeforeWrite) -> None:
        self.nova = _Nova(cloud)
        self.placement = _Placement(cloud, before_write)
        self.hypervisors = _Hypervisors(cloud)
        self.neutron = _Neutron(cloud)


class _Nova:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def cells(self) -> tuple[Any, ...]:
        return tuple(SimpleNamespace(uuid=uuid_of(name), name=name) for name in CELLS)

    def instance_states(self, cell: str, uuids: Iterable[str]) -> Mapping[str, InstanceState]:
        name = next(one for one in CELLS if uuid_of(one) == cell)
        rows = self._read(name)
        moves = (migration_of(row, name) for row in rows.migrations.values())
        moving = {move.instance for move in moves if move.under_way}
        return {
            uuid: instance_state(instance_of(rows.servers[uuid], name), uuid in moving)
            for uuid in uuids
            if uuid in rows.servers
        }

    def hosts(self, cell: Any) -> Any:
        rows = self._read(cell.name)
        return SimpleNamespace(
            services=tuple(service_of(row, cell.name) for row in rows.services.values()),
            compute_nodes=tuple(node_of(row, cell.name) for row in rows.nodes.values()),
            heartbeat=max((row.last_seen for row in rows.services.values()), default=None),
        )

    def compute_nodes(self, cell: Any, uuid: str, name: str = "") -> Any:
        nodes = self.hosts(cell).compute_nodes
        return tuple(row for row in nodes if row.uuid == uuid or row.node == name)

    def service_reports(self, cell: Any, host: str) -> Any:
        found = self.hosts(cell)
        mine = tuple(row for row in found.services if row.host == host)
        return SimpleNamespace(services=mine, heartbeat=found.heartbeat, ahead=None)

    def registry(self, cells: Any, uuids: Any) -> Any:
        found = tuple(map(aggregate_of, self._cloud.aggregates.values()))
        return SimpleNamespace(
            host_aggregates=found,
            aggregates_of=lambda host: frozenset(one.uuid for one in found if host in one.hosts),
        )

    def lookup(self, cell: Any, uuids: list[str], moves_of: list[str]) -> Any:
        rows = self._read(cell.name)
        moves = (row for row in rows.migrations.values() if row.server in moves_of)
        return SimpleNamespace(
            instances=tuple(
                instance_of(rows.servers[uuid], cell.name) for uuid in uuids if uuid in rows.servers
            ),
            migrations=tuple(migration_of(row, cell.name) for row in moves),
        )

    def _read(self, name: str) -> CellRows:
        rows = self._cloud.cells[name].read()
        if rows is None:
            raise Unreachable(name, "it is down")
        return rows


class _Hypervisors:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def domains(self, hosts: list[str]) -> list[Any]:
        return [
            SimpleNamespace(
                reason="it is off" if host in self._cloud.off else "",
                domains=tuple(
                    SimpleNamespace(uuid=uuid, state="running")
                    for uuid, name in sorted(self._cloud.guests)
                    if name == host
                ),
            )
            for host in hosts
        ]


class _Neutron:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def port(self, uuid: str) -> dict[str, Any]:
        row = self._cloud.ports[uuid]
        return {"binding:profile": profile_of(row), "revision_number": row.revision}

    def set_profile(self, uuid: str, profile: Mapping[str, Any], revision: int) -> "_Response":
        row = self._cloud.ports[uuid]
        if row.revision != revision:
            return _Response(412)
        server = self._cloud.server_of(row.server)
        # The oracle: only the card of the host on which the server is, or runs, has its bandwidth.
        assert server is not None
        assert server.host is not None
        running = [HOSTS[name].card for uuid, name in self._cloud.guests if uuid == server.uuid]
        cards = (server.host.card, *running)
        assert profile.get("allocation") in cards, f"{profile} for {server.name}"
        self._cloud.set_port(row, provider=profile["allocation"])
        return _Response(200)


@dataclass(frozen=True)
class _Response:
    status_code: int
    document: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = "/allocations"

    def json(self) -> Mapping[str, Any]:
        return self.document


_CONFLICT = {"code": "placement.concurrent_update", "detail": "the consumer was written meanwhile"}


class _Placement:
    def __init__(self, cloud: Cloud, before_write: BeforeWrite) -> None:
        self._cloud = cloud
        self._before_write = before_write

    def newest_minor(self) -> int:
        return MINOR

    def holding(self, consumer: str) -> Holding:
        return holding_of(self._cloud, consumer)

    def holdings(self, consumers: Iterable[str]) -> dict[str, Holding]:
        return {one: self.holding(one) for one in consumers}

    def document(self, path: str) -> Any:
        """A provider, its inventories, traits or aggregates; or those with traits in aggregates."""
        if path.startswith("/resource_providers?"):
            return self._listed(parse_qs(path.partition("?")[2]))
        _, _, uuid, *part = path.split("/")
        row = self._cloud.providers.get(uuid)
        if row is None:
            return None
        generation = {"resource_provider_generation": row.generation}
        match part:
            case ["inventories"]:
                return generation | {
                    "inventories": {
                        kind: asdict(Inventory(total, row.reserved, 1.0))
                        for kind, total in row.totals.items()
                    }
                }
            case [name]:
                return generation | {name: sorted(getattr(row, name))}
        return {
            "name": row.name,
            "parent_provider_uuid": row.parent,
            "generation": row.generation,
        }

    def _listed(self, filters: Mapping[str, list[str]]) -> Any:
        aggregates = {one for text in filters["member_of"] for one in text[3:].split(",")}
        traits = frozenset(filters["required"])
        rows = self._cloud.providers.values()
        found = [row for row in rows if row.aggregates & aggregates and row.traits >= traits]
        return {"resource_providers": [{"name": row.name} for row in found]}

    def _send_to_provider(self, method: str, path: str, body: Any) -> _Response:
        """PUT of a provider's traits or aggregates, or DELETE of a provider that nobody uses."""
        _, _, uuid, *part = path.split("/")
        row = self._cloud.providers[uuid]
        if method == "DELETE":
            is_held = any(uuid in claim.amounts for claim in self._cloud.ledger.values())
            has_children = any(one.parent == uuid for one in self._cloud.providers.values())
            if is_held or has_children:
                return _Response(409)
            del self._cloud.providers[uuid]
            return _Response(204)
        [name] = part
        if row.generation != body["resource_provider_generation"]:
            return _Response(409, {"errors": [_CONFLICT]})
        self._cloud.providers[uuid] = replace(
            row, generation=row.generation + 1, **{name: frozenset(body[name])}
        )
        return _Response(200)

    def send(self, method: str, path: str, body: Any, minor: int | None = None) -> _Response:
        """PUT of one consumer's allocations, or POST of several; all of them or none."""
        if path.startswith("/resource_providers/"):
            return self._send_to_provider(method, path, body)
        bodies = {path.rsplit("/", 1)[1]: body} if method == "PUT" else body
        ledger = self._cloud.ledger
        for consumer, one in bodies.items():
            claim = ledger.get(consumer)
            if (claim.generation if claim else None) != one["consumer_generation"]:
                return _Response(409, {"errors": [_CONFLICT]})
        wanted = {consumer: _claim(one) for consumer, one in bodies.items()}
        self._before_write(
            tuple(
                Change("apply", consumer, ledger.get(consumer), claim)
                for consumer, claim in wanted.items()
            )
        )
        self._cloud.write(
            **{uuid: claim.amounts if claim else {} for uuid, claim in wanted.items()}
        )
        for consumer, claim in wanted.items():
            if claim:
                generation = ledger[consumer].generation
                ledger[consumer] = replace(claim, generation=generation)
        return _Response(204)


def _claim(body: Mapping[str, Any]) -> ClaimRow | None:
    amounts = {uuid: one["resources"] for uuid, one in body["allocations"].items()}
    return ClaimRow(amounts, 0, body["project_id"], body["user_id"]) if amounts else None
