# SPDX-License-Identifier: Apache-2.0
"""The simulated cloud: Nova's databases, Placement's ledger, the guests, and the truth about them.

Every method that writes makes one write to one database, so that an audit can fall between any two
writes. The truth is what each consumer should hold; the operations keep it up to date.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.simulator.places import (
    CELL_ZERO,
    CELLS,
    CONDUCTORS,
    FLAVORS,
    HOSTS,
    METAL_CELL,
    METAL_NODES,
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
    ProviderRow,
    ServerRow,
    ServiceRow,
    uuid_of,
)

START = datetime(2026, 11, 21, 12, 0, 0)
HEARTBEAT = timedelta(seconds=10)
DOWN_AFTER = timedelta(seconds=60)

# How long an operation takes until its next write. SHORT: less than the interval between two
# observations, as between two statements of one function of Nova. LONG: any time.
SHORT, LONG = "short", "long"
Operation = Generator[str, None, None]


class Impossible(Exception):
    """This cannot happen in the present state of the cloud."""


@dataclass(eq=False)
class Server:
    """What is true of a server, whatever the databases say.

    `flavor` is that of its guest; `host` is where the guest runs or ran last; `cell` has its row.
    `previous` and `source` are flavor and host before an unconfirmed resize. `migration` is the
    uuid of its newest migration, `moves` are the uuids of all its migrations.
    """

    name: str
    flavor: FlavorRow
    volume_backed: bool = False
    cell: str = ""
    host: Host | None = None
    # The operation under way, its name, and how long it takes until its next write.
    operation: Operation | None = None
    doing: str = ""
    pause: str = LONG
    # The hosts that take part in the operation.
    working: tuple[Host, ...] = ()
    # The service that ran the operation died; the operation never goes on.
    stuck: bool = False
    # The operation has one write left: this consumer gets these amounts. If the write never
    # happens, that is drift with these names.
    ending: tuple[str, Amounts, tuple[str, ...]] | None = None
    # Nova has deleted it.
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
        """Whether Nova may still write what it holds, other than the write in `ending`."""
        return not self.settled and self.ending is None


class Cell:
    """A cell's database. It may be down, or readers may get a replica that has stopped."""

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
        """What a reader gets; None while the database is down."""
        if not self.answers:
            return None
        return self.replica or self.copy()


class Cloud:
    """The whole cloud. `right` has the holdings that are right for each consumer at this moment.

    There can be several while an operation ends. A consumer without any should hold nothing.
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
        # Ports that Neutron does not list, as one that was restored.
        self.hidden_ports: set[str] = set()
        # What a backup of Placement's database has.
        self.backup: tuple[dict[str, ClaimRow], dict[str, ProviderRow]] | None = None
        # Where guests run: (uuid, host).
        self.guests: set[tuple[str, str]] = set()
        self.servers: dict[str, Server] = {}
        # Hosts whose nova-compute does not run, and those that are off: no hypervisor answers.
        self.stopped: set[str] = set()
        self.off: set[str] = set()
        self.right: dict[str, tuple[Amounts, ...]] = {}
        # Consumers that were left with something wrong, and the defect names of it.
        self.drift: dict[str, frozenset[str]] = {}
        # Servers about which something else is wrong, and the defect names of it.
        self.damage: dict[str, frozenset[str]] = {}
        # Consumers of other services, which nobody may change.
        self.foreign: set[str] = set()
        for host in HOSTS.values():
            self.cells[host.cell].services[host.name] = ServiceRow(host.name, self.now)
            self.cells[host.cell].nodes[host.name] = NodeRow(host.root, host.name, host.name)
        for name in CONDUCTORS:
            self.cells[METAL_CELL].services[name] = ServiceRow(name, self.now)
            self.host_mappings[name] = METAL_CELL
        for number, node in enumerate(METAL_NODES.values()):
            conductor = CONDUCTORS[number % len(CONDUCTORS)]
            self.cells[METAL_CELL].nodes[node] = NodeRow(node, conductor, node, metal=True)
        self.hold(uuid_of("container"), claimed_on(HOSTS["h1"], FLAVORS["small"]))
        self.foreign.add(uuid_of("container"))

    # -- what is the case -----------------------------------------------------------------------

    def row(self, server: Server) -> ServerRow:
        return self.cells[server.cell].servers[server.uuid]

    def has_row(self, server: Server) -> bool:
        return bool(server.cell) and server.uuid in self.cells[server.cell].servers

    def is_misplaced(self, server: Server) -> bool:
        """Whether Nova has a settled server on another host than the one where its guest is."""
        if not self.has_row(server) or server.host is None or not server.settled:
            return False
        host = self.row(server).host
        return host is not None and host != server.host.name

    def ports_of(self, server: Server) -> tuple[PortRow, ...]:
        return tuple(port for port in self.ports.values() if port.server == server.uuid)

    def claim_of(self, server: Server, host: Host, flavor: FlavorRow | None = None) -> Amounts:
        """What Nova claims for the server on this host."""
        wanted = flavor or server.flavor
        return claimed_on(host, wanted, server.volume_backed, self.ports_of(server))

    def held(self, consumer: str) -> Amounts:
        claim = self.ledger.get(consumer)
        return claim.amounts if claim else {}

    def service(self, host: Host) -> ServiceRow:
        return self.cells[host.cell].services[host.name]

    def is_up(self, host: Host) -> bool:
        """Whether Nova considers the compute service of the host to be up, if it knows one."""
        service = self.cells[host.cell].services.get(host.name)
        return (
            service is not None
            and not service.forced_down
            and self.now - service.last_seen <= DOWN_AFTER
        )

    def consumers_of(self, server: Server) -> frozenset[str]:
        """The server and its migrations, which hold its resources during a move."""
        return frozenset({server.uuid, *server.moves})

    def server_of(self, consumer: str) -> Server | None:
        return next(
            (one for one in self.servers.values() if consumer in self.consumers_of(one)), None
        )

    def acceptable_to(self, consumer: str) -> tuple[Amounts, ...]:
        return self.right.get(consumer, ({},))

    def is_wrong(self, consumer: str) -> bool:
        """Whether it holds something wrong, or has a wrong owner."""
        claim = self.ledger.get(consumer)
        disowned = claim is not None and (claim.project, claim.user) != (PROJECT, USER)
        return disowned or self.held(consumer) not in self.acceptable_to(consumer)

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
        """Update the server's row in its cell, or in another cell that has one."""
        rows = self.cells[cell or server.cell].servers
        row = replace(rows[server.uuid], updated_at=self.now, **columns)
        # Whatever starts the guest notes that it runs.
        runs = (row.uuid, row.host) in self.guests
        rows[server.uuid] = replace(row, power_state=None) if runs else row

    def erase(self, server: Server, cell: str) -> None:
        """`instance.destroy(hard_delete=True)`: no row of it is left in this cell."""
        found = self.cells[cell]
        found.servers.pop(server.uuid, None)
        for uuid in [u for u, row in found.migrations.items() if row.server == server.uuid]:
            del found.migrations[uuid]

    def migrate(self, server: Server, kind: str, status: str, target: Host | None) -> None:
        """Create a migration in the server's cell."""
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
        """Update the server's newest migration."""
        rows = self.cells[cell or server.cell].migrations
        rows[server.migration] = replace(rows[server.migration], updated_at=self.now, **columns)

    # -- writes to Nova's API database ----------------------------------------------------------

    def map(self, server: Server, cell: str | None, queued_for_delete: bool = False) -> None:
        self.mappings[server.uuid] = MappingRow(server.uuid, cell, queued_for_delete, self.now)

    # -- writes to Neutron ----------------------------------------------------------------------

    def bind_ports(self, server: Server, host: Host) -> None:
        """Write the host's network card into the binding profiles of the server's ports."""
        for port in self.ports_of(server):
            self.set_port(port, provider=host.card)

    def set_port(self, port: PortRow, **fields: object) -> None:
        """Change a port; its revision number goes up by one."""
        self.ports[port.uuid] = replace(port, revision=port.revision + 1, **fields)

    # -- writes to Placement --------------------------------------------------------------------

    def write(self, **changes: Amounts) -> None:
        """One request to Placement. It sets what each of these consumers holds."""
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

    def back_up(self) -> None:
        self.backup = (dict(self.ledger), dict(self.providers))

    def restore(self) -> None:
        """Put Placement's database back. What differs since is drift, with whatever name."""
        assert self.backup is not None
        ledger, providers = self.backup
        changed = {
            one for one in {*ledger, *self.ledger} if ledger.get(one) != self.ledger.get(one)
        }
        self.ledger, self.providers = dict(ledger), dict(providers)
        for server in self.servers.values():
            written = server.uuid.replace("-", "")
            if written in server.moves and written not in ledger:
                # The backup has the consumer under its own name.
                server.moves.remove(written)
                self.right[server.uuid] = self.right.pop(written)
        for consumer in changed - self.foreign:
            self.right.setdefault(consumer, ({},))
            self.drift[consumer] = frozenset()

    def hold(self, consumer: str, amounts: Amounts) -> None:
        """Write an allocation that is right from now on."""
        self.write(**{consumer: amounts})
        self.is_right(consumer, amounts)

    def claim(self, server: Server, host: Host, flavor: FlavorRow | None = None) -> None:
        """The scheduler's claim. The server keeps what it holds already, as in an evacuation."""
        wanted = self.claim_of(server, host, flavor)
        self.write(**{server.uuid: {**wanted, **self.held(server.uuid)}})
        right = self.acceptable_to(server.uuid)[0]
        self.is_right(server.uuid, {**wanted, **right})

    def hand_over(self, giver: str, taker: str) -> None:
        """One POST moves everything from giver to taker. An empty giver leaves the taker alone."""
        if self.held(giver):
            self.write(**{taker: self.held(giver), giver: {}})
            if giver in self.drift:
                self.leave(taker, *self.drift.pop(giver))

    def is_right(self, consumer: str, *holdings: Amounts) -> None:
        """From now on each of these holdings is right for the consumer."""
        self.right[consumer] = tuple(
            one for number, one in enumerate(holdings) if one not in holdings[:number]
        )

    def leave(self, consumer: str, *names: str) -> None:
        """The consumer is left with something wrong, for which these defect names are right."""
        still = self.drift.get(consumer, frozenset()) if self.is_wrong(consumer) else frozenset()
        self.drift[consumer] = still | frozenset(names)

    def unname(self, *consumers: str) -> None:
        """Nobody can name what is wrong with them: it is to be reported as not checked."""
        self.drift |= {one: frozenset() for one in consumers if one in self.drift}

    def ends(self, server: Server, consumer: str, last: Amounts, *names: str) -> None:
        """The operation has one write left, which leaves the consumer with `last`.

        If the write never happens, that is drift with these names; without names, of any name.
        """
        server.ending = (consumer, last, names)
        self.is_right(consumer, *self.acceptable_to(consumer), last)

    def release_tree(self, server: Server, host: Host) -> None:
        """Release what the server holds of the host's tree, as nova-compute does."""
        self.write(**{server.uuid: without(self.held(server.uuid), host.tree)})
        rights = (without(one, host.tree) for one in self.acceptable_to(server.uuid))
        self.is_right(server.uuid, *rights)

    # -- time -----------------------------------------------------------------------------------

    def wait(self, seconds: int) -> None:
        """Let time pass. Every running compute service reports."""
        self.now += timedelta(seconds=seconds)
        for cell in self.cells.values():
            for host, service in cell.services.items():
                if host not in self.stopped:
                    cell.services[host] = replace(service, last_seen=self.now)

    # -- operations -----------------------------------------------------------------------------

    def begin(self, server: Server, doing: str, operation: Operation, *hosts: Host) -> None:
        """Start an operation, which these hosts take part in. Raises Impossible."""
        if not server.settled:
            raise Impossible(f"{server.name} is in {server.doing}")
        server.operation, server.doing, server.working = operation, doing, hosts
        self.advance(server)

    def is_blocked(self, server: Server) -> bool:
        """Whether the operation waits because a database that it writes to is down."""
        places = {server.cell, server.host.cell if server.host else "", CELL_ZERO}
        places |= set(CELLS) if "between cells" in server.doing else set()
        return any(not self.cells[name].answers for name in places if name)

    def advance(self, server: Server) -> bool:
        """Let the operation of a server make its next write. False: nothing was written."""
        if server.operation is None or self.is_blocked(server):
            return False
        self.wait(1)
        try:
            server.pause = next(server.operation)
        except StopIteration:
            server.operation, server.doing, server.ending = None, "", None
        return True

    def finish(self, servers: Iterable[Server] | None = None) -> None:
        """Let operations finish; those of all servers unless some are named."""
        for server in list(self.servers.values()) if servers is None else servers:
            while self.advance(server):
                pass

    def finish_short_pauses(self) -> None:
        """Let every operation go on until it pauses for longer than an interval."""
        for server in list(self.servers.values()):
            while server.operation is not None and server.pause == SHORT:
                if not self.advance(server):
                    break

    def crash(self, server: Server) -> None:
        """The service that runs the operation dies: the next write never happens."""
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
