# SPDX-License-Identifier: Apache-2.0
"""A cloud that knows the truth: Nova's databases, Placement's ledger, the guests, and beside them
what each consumer should hold.

Each method that writes is one write to one database, so that an audit can fall between any two.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.simulator.places import (
    CELL_ZERO,
    CELLS,
    FLAVORS,
    HOSTS,
    RACK,
    Host,
    claimed_on,
    providers,
    without,
)
from tests.simulator.rows import (
    PROJECT,
    USER,
    Amounts,
    CellRows,
    ClaimRow,
    FlavorRow,
    MappingRow,
    MigrationRow,
    NodeRow,
    PortRow,
    ServerRow,
    ServiceRow,
    uuid_of,
)

START = datetime(2026, 11, 21, 12, 0, 0)
HEARTBEAT = timedelta(seconds=10)
DOWN_AFTER = timedelta(seconds=60)

# How long it takes to the next write of an operation: SHORT is less than the time between two
# looks, as between two statements of one function of Nova; LONG is any time.
SHORT, LONG = "short", "long"
Operation = Generator[str, None, None]


class Impossible(Exception):
    """The cloud is not in a state in which this can happen."""


@dataclass(eq=False)
class Server:
    """What is true of a server, whatever the databases say.

    `flavor` is what the guest has, `host` where it runs or last ran; `cell` has its row.
    """

    name: str
    flavor: FlavorRow
    volume_backed: bool = False
    cell: str = ""
    host: Host | None = None
    # The operation under way; `pause` is how long it takes to its next write.
    operation: Operation | None = None
    doing: str = ""
    pause: str = LONG
    # A service died within the operation, which is never gone on with.
    stuck: bool = False
    # All that is left to be done: a consumer is to be left with this; else names of the drift.
    ending: tuple[str, Amounts, tuple[str, ...]] | None = None
    gone: bool = False
    migration: str = ""
    previous: FlavorRow | None = None
    source: Host | None = None
    moves: list[str] = field(default_factory=list)

    @property
    def uuid(self) -> str:
        return uuid_of(self.name)

    @property
    def settled(self) -> bool:
        return self.operation is None and not self.stuck

    @property
    def busy(self) -> bool:
        """Whether Nova may yet write what it holds, other than as `ending` says."""
        return not self.settled and self.ending is None


class Cell:
    """A cell's database; it may be down, or be read from a replica that stands still."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.servers: dict[str, ServerRow] = {}
        self.migrations: dict[str, MigrationRow] = {}
        self.services: dict[str, ServiceRow] = {}
        self.nodes: dict[str, NodeRow] = {}
        self.answers = True
        self.replica: CellRows | None = None

    def copy(self) -> CellRows:
        return CellRows(
            dict(self.servers), dict(self.migrations), dict(self.services), dict(self.nodes)
        )

    def read(self) -> CellRows | None:
        """What a reader is given: nothing while it is down."""
        if not self.answers:
            return None
        return self.replica or self.copy()


class Cloud:
    """The whole cloud. `right` are the holdings that are right for each consumer just now; a
    consumer that is not in it should hold nothing.
    """

    def __init__(self) -> None:
        self.now = START
        self.cells = {name: Cell(name) for name in CELLS}
        self.builds: set[str] = set()
        self.mappings: dict[str, MappingRow] = {}
        self.ledger: dict[str, ClaimRow] = {}
        self.providers = providers()
        self.aggregates = {RACK.uuid: RACK}
        self.host_mappings = {host.name: host.cell for host in HOSTS.values()}
        self.ports: dict[str, PortRow] = {}
        # Where guests run: (uuid, host).
        self.guests: set[tuple[str, str]] = set()
        self.servers: dict[str, Server] = {}
        # Hosts whose nova-compute does not run.
        self.stopped: set[str] = set()
        self.right: dict[str, tuple[Amounts, ...]] = {}
        # What was left wrong, by consumer: the names a finding of it may have.
        self.drift: dict[str, frozenset[str]] = {}
        # Servers of which Nova's own maps are wrong, with the names a finding of it may have.
        self.damage: dict[str, frozenset[str]] = {}
        # Consumers of other services, which nobody may touch.
        self.foreign: set[str] = set()
        for host in HOSTS.values():
            self.cells[host.cell].services[host.name] = ServiceRow(host.name, self.now)
            self.cells[host.cell].nodes[host.name] = NodeRow(host.root, host.name, host.name)
        self.hold(uuid_of("container"), claimed_on(HOSTS["h1"], FLAVORS["small"]))
        self.foreign.add(uuid_of("container"))

    # -- what is the case -----------------------------------------------------------------------

    def row(self, server: Server) -> ServerRow:
        return self.cells[server.cell].servers[server.uuid]

    def has_row(self, server: Server) -> bool:
        return bool(server.cell) and server.uuid in self.cells[server.cell].servers

    def ports_of(self, server: Server) -> tuple[PortRow, ...]:
        return tuple(port for port in self.ports.values() if port.server == server.uuid)

    def claim_of(self, server: Server, host: Host, flavor: FlavorRow | None = None) -> Amounts:
        """What Nova claims for it on this host."""
        wanted = flavor or server.flavor
        return claimed_on(host, wanted, server.volume_backed, self.ports_of(server))

    def held(self, consumer: str) -> Amounts:
        claim = self.ledger.get(consumer)
        return claim.amounts if claim else {}

    def service(self, host: Host) -> ServiceRow:
        return self.cells[host.cell].services[host.name]

    def is_up(self, host: Host) -> bool:
        """Whether Nova takes its compute service for up."""
        service = self.service(host)
        return not service.forced_down and self.now - service.last_seen <= DOWN_AFTER

    def consumers_of(self, server: Server) -> frozenset[str]:
        """The server itself and its moves, which hold for it."""
        return frozenset({server.uuid, *server.moves})

    def server_of(self, consumer: str) -> Server | None:
        return next(
            (one for one in self.servers.values() if consumer in self.consumers_of(one)), None
        )

    def rights_of(self, consumer: str) -> tuple[Amounts, ...]:
        return self.right.get(consumer, ({},))

    def is_wrong(self, consumer: str) -> bool:
        """Whether it holds what is not right, or for somebody else."""
        claim = self.ledger.get(consumer)
        disowned = claim is not None and (claim.project, claim.user) != (PROJECT, USER)
        return disowned or self.held(consumer) not in self.rights_of(consumer)

    # -- writes to a cell -----------------------------------------------------------------------

    def create(self, server: Server, cell: str, **columns: Any) -> None:
        server.cell = cell
        self.cells[cell].servers[server.uuid] = ServerRow(
            uuid=server.uuid,
            name=server.name,
            created_at=self.now,
            updated_at=self.now,
            volume_backed=server.volume_backed,
            **{"host": None, "flavor": server.flavor, "task_state": None, **columns},
        )

    def save(self, server: Server, cell: str = "", **columns: Any) -> None:
        """Update the server's row, in its own cell or in another that has one."""
        rows = self.cells[cell or server.cell].servers
        rows[server.uuid] = replace(rows[server.uuid], updated_at=self.now, **columns)

    def destroy(self, server: Server) -> None:
        """What `instance.destroy` does: the row stays, as a deleted one."""
        self.save(server, deleted=1000 + len(self.servers), deleted_at=self.now)

    def erase(self, server: Server, cell: str) -> None:
        """What `instance.destroy(hard_delete=True)` does: no row of it is left in this cell."""
        found = self.cells[cell]
        found.servers.pop(server.uuid, None)
        for uuid in [u for u, row in found.migrations.items() if row.server == server.uuid]:
            del found.migrations[uuid]

    def migrate(self, server: Server, kind: str, status: str, target: Host | None) -> None:
        """Make a migration's row in the server's cell."""
        server.migration = uuid_of(f"{kind} {len(server.moves)} of {server.name}")
        server.moves.append(server.migration)
        host = server.host
        assert host is not None
        self.cells[server.cell].migrations[server.migration] = MigrationRow(
            uuid=server.migration,
            server=server.uuid,
            kind=kind,
            status=status,
            source=host.name,
            target=target.name if target else None,
            created_at=self.now,
            updated_at=self.now,
        )

    def copy_to(self, server: Server, cell: str) -> None:
        """Make a hidden copy of the server's row in another cell."""
        self.cells[cell].servers[server.uuid] = replace(self.row(server), hidden=True)

    def copy_migration_to(self, server: Server, cell: str) -> None:
        found = self.cells[server.cell].migrations[server.migration]
        self.cells[cell].migrations[server.migration] = found

    def progress(self, server: Server, cell: str = "", **columns: Any) -> None:
        """Update the row of the server's newest migration."""
        rows = self.cells[cell or server.cell].migrations
        rows[server.migration] = replace(rows[server.migration], updated_at=self.now, **columns)

    # -- writes to Nova's API database ----------------------------------------------------------

    def map(self, server: Server, cell: str | None, queued_for_delete: bool = False) -> None:
        self.mappings[server.uuid] = MappingRow(server.uuid, cell, queued_for_delete)

    # -- writes to Neutron ----------------------------------------------------------------------

    def bind_ports(self, server: Server, host: Host) -> None:
        """Name in the server's ports the provider that it was given their bandwidth by."""
        for port in self.ports_of(server):
            self.ports[port.uuid] = replace(port, provider=host.card)

    # -- writes to Placement --------------------------------------------------------------------

    def write(self, **changes: Amounts) -> None:
        """One request to Placement, that sets what each of these consumers holds."""
        for consumer, amounts in changes.items():
            before = self.ledger.get(consumer)
            for uuid in {*amounts, *(before.amounts if before else {})}:
                provider = self.providers[uuid]
                self.providers[uuid] = replace(provider, generation=provider.generation + 1)
            if not amounts:
                self.ledger.pop(consumer, None)
            elif before:
                self.ledger[consumer] = replace(
                    before, amounts=amounts, generation=before.generation + 1
                )
            else:
                self.ledger[consumer] = ClaimRow(amounts, 1)

    def hold(self, consumer: str, amounts: Amounts) -> None:
        """Write a claim that is right from now on."""
        self.write(**{consumer: amounts})
        self.is_right(consumer, amounts)

    def claim(self, server: Server, host: Host, flavor: FlavorRow | None = None) -> None:
        """The scheduler's claim; what the server holds already it keeps, as in an evacuation."""
        wanted = self.claim_of(server, host, flavor)
        self.write(**{server.uuid: {**wanted, **self.held(server.uuid)}})
        right = self.rights_of(server.uuid)[0]
        self.is_right(server.uuid, {**wanted, **right})

    def hand_over(self, giver: str, taker: str) -> None:
        """One POST: what the giver holds the taker holds instead. Nova leaves an empty giver be."""
        if self.held(giver):
            self.write(**{taker: self.held(giver), giver: {}})
            if giver in self.drift:
                self.leave(taker, *self.drift.pop(giver))

    def is_right(self, consumer: str, *holdings: Amounts) -> None:
        """From now on one of these is right for this consumer."""
        self.right[consumer] = tuple(
            one for number, one in enumerate(holdings) if one not in holdings[:number]
        )

    def leave(self, consumer: str, *names: str) -> None:
        """Nova itself leaves something wrong: a finding of it has one of these names."""
        still = self.drift.get(consumer, frozenset()) if self.is_wrong(consumer) else frozenset()
        self.drift[consumer] = still | frozenset(names)

    def ends(self, server: Server, consumer: str, last: Amounts, *names: str) -> None:
        """All that is left to be done is to leave the consumer with this much. If that is never
        done, it is drift, of which a finding has one of these names (none: any).
        """
        server.ending = (consumer, last, names)
        self.is_right(consumer, *self.rights_of(consumer), last)

    def release_tree(self, server: Server, host: Host) -> None:
        """What nova-compute does with the claim on one host, and those below it."""
        self.write(**{server.uuid: without(self.held(server.uuid), host.tree)})
        rights = (without(one, host.tree) for one in self.rights_of(server.uuid))
        self.is_right(server.uuid, *rights)

    # -- time -----------------------------------------------------------------------------------

    def wait(self, seconds: int) -> None:
        """Let time pass; every compute service that runs reports meanwhile."""
        self.now += timedelta(seconds=seconds)
        for cell in self.cells.values():
            for host, service in cell.services.items():
                if host not in self.stopped:
                    cell.services[host] = replace(service, last_seen=self.now)

    # -- operations -----------------------------------------------------------------------------

    def begin(self, server: Server, doing: str, operation: Operation) -> None:
        if not server.settled:
            raise Impossible(f"{server.name} is in {server.doing}")
        server.operation, server.doing = operation, doing
        self.advance(server)

    def is_blocked(self, server: Server) -> bool:
        """Whether Nova cannot write of it, because a database is down."""
        places = {server.cell, server.host.cell if server.host else "", CELL_ZERO}
        places |= set(CELLS) if "between cells" in server.doing else set()
        return any(not self.cells[name].answers for name in places if name)

    def advance(self, server: Server) -> bool:
        """Let the operation of a server make its next write. False: there is none any more."""
        if server.operation is None or self.is_blocked(server):
            return False
        self.wait(1)
        try:
            server.pause = next(server.operation)
        except StopIteration:
            server.operation, server.doing, server.ending = None, "", None
        return True

    def finish(self, servers: Iterable[Server] | None = None) -> None:
        """Let operations run to their ends."""
        for server in list(self.servers.values()) if servers is None else servers:
            while self.advance(server):
                pass

    def finish_short_pauses(self) -> None:
        """What takes less than the time that passes now is over afterwards."""
        for server in list(self.servers.values()):
            while server.operation is not None and server.pause == SHORT:
                if not self.advance(server):
                    break

    def crash(self, server: Server) -> None:
        """The service that does the operation dies: its next write never comes."""
        if server.operation is None:
            raise Impossible(f"nothing is done with {server.name}")
        server.operation.close()
        server.operation = None
        server.stuck = server.ending is None
        if server.ending:
            consumer, last, names = server.ending
            self.is_right(consumer, last)
            if self.held(consumer) != last:
                self.leave(consumer, *names)
            server.ending = None
