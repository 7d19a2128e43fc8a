# SPDX-License-Identifier: Apache-2.0
"""Drift to plant on a server: a table with one line for each kind.

Planting writes to a database behind Nova's back, or changes what is right.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from tests.simulator.cloud import Cloud, Impossible, Server
from tests.simulator.places import BANDWIDTH, HOSTS, Host
from tests.simulator.rows import Amounts, ClaimRow, PortRow


@dataclass(frozen=True, slots=True)
class Drift:
    """One kind of drift. `act` plants it, or raises Impossible.

    `names` are the defect names that a finding about it may have. Without names no finding is
    right: it must be reported as something that could not be checked.
    """

    names: tuple[str, ...]
    act: Callable[[Cloud, Server], None]
    # What the server holds is right; something else about it is wrong.
    of_maps: bool = False

    def plant(self, cloud: Cloud, server: Server) -> None:
        was_right = not cloud.is_wrong(server.uuid)
        self.act(cloud, server)
        if was_right:
            # What it was left with earlier is repaired.
            cloud.drift.pop(server.uuid, None)
        if self.of_maps:
            cloud.damage[server.uuid] = frozenset(self.names)
        else:
            cloud.leave(server.uuid, *(() if _may_be_elsewhere(cloud, server) else self.names))


def _may_be_elsewhere(cloud: Cloud, server: Server) -> bool:
    """Whether a move of it leaves open, beside such a drift, where its guest is.

    After the newest move it may have been shelved, and unshelved on another host.
    """
    moves = [row for cell in cloud.cells.values() for row in cell.migrations.values()]
    unclear = {("live-migration", "error"), ("evacuation", "error"), ("evacuation", "failed")}
    mine = [row for row in moves if row.server == server.uuid]
    here = server.host.name if server.host else None
    unshelved = any(
        row.uuid == server.migration
        and row.status in ("completed", "confirmed", "done", "reverted")
        and (row.source if row.status == "reverted" else row.target) != here
        for row in mine
    )
    return unshelved or any((row.kind, row.status) in unclear for row in mine)


def _placed(cloud: Cloud, server: Server) -> Host:
    """The host of a settled server that holds what is right. Raises Impossible."""
    if server.gone or server.host is None or not cloud.has_row(server):
        raise Impossible("it is on no host")
    row = cloud.row(server)
    if row.vm_state not in ("active", "stopped", "soft-delete") or row.task_state:
        raise Impossible("it is not settled")
    if cloud.is_misplaced(server):
        raise Impossible("Nova has it on another host")
    _holds_rightly(cloud, server)
    return server.host


def _holds_rightly(cloud: Cloud, server: Server) -> None:
    if cloud.acceptable_to(server.uuid) != (cloud.held(server.uuid),):
        raise Impossible("it drifted already")


def _other(cloud: Cloud, host: Host) -> Host:
    """Another host of the same cell."""
    return next(one for one in HOSTS.values() if one.cell == host.cell and one != host)


def _set(cloud: Cloud, server: Server, amounts: Amounts) -> None:
    if amounts == cloud.held(server.uuid):
        raise Impossible("nothing would change")
    cloud.write(**{server.uuid: amounts})


def _missing(cloud: Cloud, server: Server) -> None:
    _placed(cloud, server)
    _set(cloud, server, {})


def _wrong_provider(cloud: Cloud, server: Server) -> None:
    _set(cloud, server, cloud.claim_of(server, _other(cloud, _placed(cloud, server))))


def _two_hosts(cloud: Cloud, server: Server) -> None:
    other = _other(cloud, _placed(cloud, server))
    _set(cloud, server, {**cloud.claim_of(server, other), **cloud.held(server.uuid)})


def _doubled(cloud: Cloud, server: Server) -> None:
    _placed(cloud, server)
    held = cloud.held(server.uuid)
    _set(cloud, server, {u: {c: 2 * n for c, n in one.items()} for u, one in held.items()})


def _wrong_amount(cloud: Cloud, server: Server) -> None:
    host = _placed(cloud, server)
    held = cloud.held(server.uuid)
    _set(cloud, server, {**held, host.root: {**held[host.root], "MEMORY_MB": 77}})


def _wrong_owner(cloud: Cloud, server: Server) -> None:
    _placed(cloud, server)
    claim = cloud.ledger[server.uuid]
    cloud.ledger[server.uuid] = replace(
        claim, project="00000000-0000-0000-0000-000000000000", generation=claim.generation + 1
    )


def _missing_port(cloud: Cloud, server: Server) -> None:
    host = _placed(cloud, server)
    held = cloud.held(server.uuid)
    _set(cloud, server, {u: one for u, one in held.items() if u != host.card})


def _leaked_port(cloud: Cloud, server: Server) -> None:
    host = _placed(cloud, server)
    held = cloud.held(server.uuid)
    more = held.get(host.card, {}).get(BANDWIDTH, 0) + 500
    _set(cloud, server, {**held, host.card: {BANDWIDTH: more}})


def _port(cloud: Cloud, server: Server) -> tuple[Host, PortRow]:
    """A port of a settled server, and its host. Raises Impossible."""
    host, ports = _placed(cloud, server), cloud.ports_of(server)
    if not ports:
        raise Impossible("it has no port")
    return host, ports[0]


def _unnamed_port(cloud: Cloud, server: Server) -> None:
    """Somebody emptied the binding profile; the bandwidth is allocated."""
    cloud.set_port(_port(cloud, server)[1], provider=None)


def _misnamed_port(cloud: Cloud, server: Server) -> None:
    """The binding profile names the card of another host, as after a restored Neutron."""
    host, port = _port(cloud, server)
    cloud.set_port(port, provider=_other(cloud, host).card)


def _forgotten_port(cloud: Cloud, server: Server) -> None:
    """The port was attached before Nova allocated for ports."""
    _port(cloud, server)
    for port in cloud.ports_of(server):
        cloud.set_port(port, provider=None)
    _missing_port(cloud, server)


def _shelved(cloud: Cloud, server: Server) -> None:
    if server.gone or not cloud.has_row(server) or server.host or cloud.held(server.uuid):
        raise Impossible("it is not shelved and offloaded")
    if cloud.row(server).vm_state != "shelved_offloaded":
        raise Impossible("it is not shelved and offloaded")
    _set(cloud, server, cloud.claim_of(server, HOSTS["h1"]))


def _source_lost(cloud: Cloud, server: Server) -> None:
    """A resize waits for confirmation, and the claim of the host it left is gone."""
    if server.gone or not cloud.has_row(server) or server.source is None or server.host is None:
        raise Impossible("it was not resized")
    row, held = cloud.row(server), cloud.held(server.migration)
    if row.vm_state != "resized" or row.task_state or server.source.cell != server.host.cell:
        raise Impossible("no resize within its cell waits for confirmation")
    _holds_rightly(cloud, server)
    if not held or held not in cloud.acceptable_to(server.migration):
        raise Impossible("it drifted already")
    cloud.write(**{server.migration: {}})
    cloud.leave(server.migration, "missing-allocation")


def _orphaned(cloud: Cloud, server: Server) -> None:
    """Nova deleted the server long ago, and its request to Placement was lost."""
    if not server.gone or not cloud.has_row(server) or not cloud.row(server).deleted:
        raise Impossible("it is not deleted")
    _set(cloud, server, cloud.claim_of(server, server.host or HOSTS["h1"]))


def _deleted_by_hand(cloud: Cloud, server: Server) -> None:
    """`UPDATE instances SET deleted=1`, after its guest was destroyed by hand."""
    host = _placed(cloud, server)
    cloud.guests.discard((server.uuid, host.name))
    server.gone = True
    cloud.is_right(server.uuid, {})
    cloud.save(server, deleted=1, deleted_at=cloud.now)


def _deleted_by_hand_without_time(cloud: Cloud, server: Server) -> None:
    """The same without `deleted_at`: the age of the deletion is unknown."""
    _deleted_by_hand(cloud, server)
    cells = cloud.cells[server.cell].servers
    cells[server.uuid] = replace(cells[server.uuid], deleted_at=None)


def _stale_copy(cloud: Cloud, server: Server) -> None:
    """Another cell has a row of the server too, from a restored database."""
    host = _placed(cloud, server)
    cell = "cell2" if host.cell == "cell1" else "cell1"
    if server.uuid in cloud.cells[cell].servers:
        raise Impossible("it has a row there")
    there = next(one for one in HOSTS.values() if one.cell == cell)
    cloud.cells[cell].servers[server.uuid] = replace(cloud.row(server), host=there.name)


def _wrong_mapping(cloud: Cloud, server: Server) -> None:
    host = _placed(cloud, server)
    cloud.map(server, "cell2" if host.cell == "cell1" else "cell1")


def _without_dashes(cloud: Cloud, server: Server) -> None:
    """The consumer's uuid is written without dashes. It is the same server."""
    _placed(cloud, server)
    held, written = cloud.held(server.uuid), server.uuid.replace("-", "")
    cloud.write(**{server.uuid: {}})
    cloud.ledger[written] = ClaimRow(held, 1)
    cloud.is_right(written, held)
    cloud.is_right(server.uuid, {})
    server.moves.append(written)


def _ghost(cloud: Cloud, server: Server) -> None:
    """The server is deleted, and its guest still runs."""
    if not server.gone or server.host is None:
        raise Impossible("it is not deleted")
    cloud.guests.add((server.uuid, server.host.name))


def _guest_gone(cloud: Cloud, server: Server) -> None:
    cloud.guests.discard((server.uuid, _placed(cloud, server).name))


def _guest_elsewhere(cloud: Cloud, server: Server) -> None:
    host = _placed(cloud, server)
    cloud.guests.discard((server.uuid, host.name))
    cloud.guests.add((server.uuid, _other(cloud, host).name))


def _build_request(cloud: Cloud, server: Server) -> None:
    _placed(cloud, server)
    cloud.builds.add(server.uuid)


def _deleted_elsewhere_in_time(cloud: Cloud, server: Server) -> None:
    """Deleted by hand with `now()`, on a server whose clock is in another time zone."""
    _deleted_by_hand(cloud, server)
    cells = cloud.cells[server.cell].servers
    ahead = cloud.now + timedelta(hours=3)
    cells[server.uuid] = replace(cells[server.uuid], deleted_at=ahead)


DRIFTS: dict[str, Drift] = {
    "missing": Drift(("missing-allocation",), _missing),
    "wrong-provider": Drift(("wrong-provider",), _wrong_provider),
    # After an earlier move between the two hosts, nothing tells it from what that move left.
    "two-hosts": Drift(
        ("doubled-allocation", "migration-residue", "evacuation-residue"), _two_hosts
    ),
    "doubled": Drift(("doubled-allocation",), _doubled),
    "wrong-amount": Drift(("wrong-amount",), _wrong_amount),
    "wrong-owner": Drift(("wrong-owner",), _wrong_owner),
    "missing-port": Drift(("missing-port-allocation",), _missing_port),
    "leaked-port": Drift(("leaked-port-allocation",), _leaked_port),
    "source-lost": Drift(("missing-allocation",), _source_lost),
    "unnamed-port": Drift(("port-binding-mismatch",), _unnamed_port, of_maps=True),
    "misnamed-port": Drift(("port-binding-mismatch",), _misnamed_port, of_maps=True),
    "forgotten-port": Drift(("missing-port-allocation",), _forgotten_port),
    "shelved": Drift(("shelved-allocation",), _shelved),
    "orphaned": Drift(("orphaned-allocation",), _orphaned),
    "deleted-by-hand": Drift(("orphaned-allocation",), _deleted_by_hand),
    "deleted-without-time": Drift((), _deleted_by_hand_without_time),
    "stale-copy": Drift(("stale-instance-mapping",), _stale_copy, of_maps=True),
    "wrong-mapping": Drift(("stale-instance-mapping",), _wrong_mapping, of_maps=True),
    "deleted-in-another-zone": Drift(("orphaned-allocation",), _deleted_elsewhere_in_time),
    "build-request": Drift(("build-request-left",), _build_request, of_maps=True),
    "without-dashes": Drift(("split-consumer",), _without_dashes, of_maps=True),
}

# Drift that only hypervisors show.
GUEST_DRIFTS: dict[str, Drift] = {
    "ghost": Drift(("ghost-domain",), _ghost, of_maps=True),
    "guest-gone": Drift(("missing-domain",), _guest_gone, of_maps=True),
    "guest-elsewhere": Drift(("domain-elsewhere",), _guest_elsewhere, of_maps=True),
}

# Drift that changes nothing but the ledger.
OF_LEDGER = tuple(
    kind
    for kind, drift in DRIFTS.items()
    if not drift.of_maps and not kind.startswith("deleted") and kind != "forgotten-port"
)
