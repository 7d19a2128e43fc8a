# SPDX-License-Identifier: Apache-2.0
"""Events of a history, written as lines such as `resize web h2 large fails=claim`.

An event that is impossible in the present state of the cloud raises Impossible and changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from tests.simulator.cloud import Cell, Cloud, Impossible, Server
from tests.simulator.drifts import DRIFTS, GUEST_DRIFTS
from tests.simulator.operations import bare_metal
from tests.simulator.operations.attaching import attach, detach
from tests.simulator.operations.booting import boot
from tests.simulator.operations.crossing import confirm_across, resize_across, revert_across
from tests.simulator.operations.deleting import archive, delete, restore, soft_delete
from tests.simulator.operations.evacuating import (
    evacuate,
    force_down,
    power_off,
    start_service,
    stop_service,
)
from tests.simulator.operations.live_migrating import live_migrate, retry
from tests.simulator.operations.resizing import confirm, resize, revert
from tests.simulator.operations.shelving import shelve, unshelve
from tests.simulator.places import FLAVORS, HOSTS, METAL, Host
from tests.simulator.rows import uuid_of

MOVABLE = ("active", "stopped")


@dataclass(frozen=True, slots=True)
class Event:
    """A verb with its arguments; `options` are the arguments of the form `name=value`."""

    verb: str
    words: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options)
        return " ".join((self.verb, *self.words, *options))

    def option(self, name: str) -> str:
        return dict(self.options).get(name, "")

    @property
    def lost(self) -> bool:
        return bool(self.option("lost"))


def parsed(line: str) -> Event:
    verb, *words = line.split()
    options = tuple((name, value) for name, _, value in (w.partition("=") for w in words) if value)
    return Event(verb, tuple(word for word in words if "=" not in word), options)


def happen(event: Event, cloud: Cloud) -> None:
    """Let the event happen. Raises Impossible."""
    VERBS[event.verb](cloud, event)


def _server(cloud: Cloud, event: Event, *states: str) -> Server:
    """The server that the event names: settled, and in one of these states if any are given."""
    server = cloud.servers.get(event.words[0])
    if server is None or not server.settled or server.gone or not cloud.has_row(server):
        raise Impossible("there is no such server, or it is busy")
    row = cloud.row(server)
    if row.task_state or (states and row.vm_state not in states):
        raise Impossible(f"it is {row.vm_state}, {row.task_state}")
    if any(not cell.answers for cell in cloud.cells.values()):
        raise Impossible("a cell is down")
    if _is_lost(cloud, server):
        raise Impossible("Nova does not find it, or finds it twice")
    return server


def _is_lost(cloud: Cloud, server: Server) -> bool:
    """Whether Nova does not find the server or its allocations: a move or planted drift did it."""
    if cloud.is_misplaced(server):
        return True
    known = cloud.mappings[server.uuid].cell == server.cell
    rows = sum(server.uuid in cell.servers for cell in cloud.cells.values())
    across = server.source is not None and server.source.cell != server.cell
    twice = rows > 1 and not across
    return not known or twice or server.uuid.replace("-", "") in server.moves


def _up(cloud: Cloud, name: str) -> Host:
    host = HOSTS[name]
    if host.name in cloud.stopped or not cloud.is_up(host) or not cloud.cells[host.cell].answers:
        raise Impossible(f"{name} is down")
    return host


def _on_host_that_is_up(cloud: Cloud, server: Server) -> Host:
    if server.host is None:
        raise Impossible("it is on no host")
    return _up(cloud, server.host.name)


def _hosts(server: Server) -> tuple[Host, ...]:
    return tuple(host for host in (server.host, server.source) if host)


def _boot(cloud: Cloud, event: Event) -> None:
    name, host, flavor = event.words
    if name in cloud.servers:
        raise Impossible("the name is taken")
    target = _up(cloud, host)
    fails = event.option("fails")
    if fails in HOSTS and HOSTS[fails].cell != target.cell:
        raise Impossible("a build goes on within its cell")
    _fits(target, flavor)
    server = Server(name, FLAVORS[flavor], volume_backed=bool(event.option("volume")))
    cloud.servers[name] = server
    hosts = (target, HOSTS[fails]) if fails in HOSTS else (target,)
    cloud.begin(server, "boot", boot(cloud, server, target, fails), *hosts)


def _boot_metal(cloud: Cloud, event: Event) -> None:
    name, place = event.words
    if name in cloud.servers:
        raise Impossible("the name is taken")
    node = bare_metal.free_node(cloud, place)
    server = Server(name, METAL)
    cloud.servers[name] = server
    cloud.begin(server, "boot", bare_metal.boot(cloud, server, node))


def _fits(host: Host, flavor: str) -> None:
    if FLAVORS[flavor].dedicated and host.cell != "cell1":
        raise Impossible("the host has no dedicated processors")


def _delete(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event)
    if server.source and server.source.cell != server.cell:
        raise Impossible("a deletion amid a resize between cells is not simulated")
    if server.source and not cloud.is_up(server.source):
        raise Impossible("the resize cannot be confirmed")
    cloud.begin(server, "delete", delete(cloud, server, event.lost), *_hosts(server))


def _soft_delete(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, *MOVABLE)
    host = _on_host_that_is_up(cloud, server)
    cloud.begin(server, "soft deletion", soft_delete(cloud, server), host)


def _restore(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, "soft-delete")
    host = _on_host_that_is_up(cloud, server)
    cloud.begin(server, "restore", restore(cloud, server), host)


def _resize(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, *MOVABLE)
    source, target = _on_host_that_is_up(cloud, server), _up(cloud, event.words[1])
    flavor = FLAVORS[event.words[2]] if len(event.words) > 2 else server.flavor
    _fits(target, flavor.name)
    if source == target and flavor == server.flavor:
        raise Impossible("nothing would change")
    if source.cell != target.cell:
        across = resize_across(cloud, server, target, flavor)
        cloud.begin(server, "resize between cells", across, source, target)
        return
    move = resize(cloud, server, target, flavor, event.option("fails"), event.lost)
    cloud.begin(server, "resize", move, source, target)


def _end_of_resize(cloud: Cloud, event: Event) -> Server:
    server = _server(cloud, event, "resized")
    if server.source is None:
        raise Impossible("it was not resized")
    _up(cloud, server.source.name)
    _on_host_that_is_up(cloud, server)
    return server


def _confirm(cloud: Cloud, event: Event) -> None:
    server = _end_of_resize(cloud, event)
    across = server.source and server.source.cell != server.cell
    ending = confirm_across(cloud, server) if across else confirm(cloud, server, event.lost)
    name = "confirmation between cells" if across else "confirmation"
    cloud.begin(server, name, ending, *_hosts(server))


def _revert(cloud: Cloud, event: Event) -> None:
    server = _end_of_resize(cloud, event)
    across = server.source and server.source.cell != server.cell
    if across:
        ending = revert_across(cloud, server)
    else:
        ending = revert(cloud, server, event.lost, event.option("fails"))
    name = "reversal between cells" if across else "reversal"
    cloud.begin(server, name, ending, *_hosts(server))


def _live_migrate(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, "active")
    source, target = _on_host_that_is_up(cloud, server), _up(cloud, event.words[1])
    if source == target or source.cell != target.cell:
        raise Impossible("the target is not another host of its cell")
    move = live_migrate(cloud, server, target, event.option("fails"), event.lost)
    cloud.begin(server, "live migration", move, source, target)


def _retry(cloud: Cloud, event: Event) -> None:
    """Somebody tries to move a server that Nova has on a host where it is not."""
    server = cloud.servers.get(event.words[0])
    if server is None or not server.settled or server.gone or not cloud.is_misplaced(server):
        raise Impossible("Nova has it where it is, or nothing can be done with it")
    if any(not cell.answers for cell in cloud.cells.values()):
        raise Impossible("a cell is down")
    target, kind = _up(cloud, event.words[1]), event.words[2]
    if target.cell != server.cell or target.name == cloud.row(server).host:
        raise Impossible("the target is not another host of its cell")
    cloud.begin(server, "retry", retry(cloud, server, target, kind), target)


def _evacuate(cloud: Cloud, event: Event) -> None:
    server = cloud.servers.get(event.words[0])
    if server is None or not server.settled or not cloud.is_misplaced(server):
        server = _server(cloud, event, "active", "stopped", "error")
    elif event.option("fails") or cloud.row(server).deleted or not _all_answer(cloud):
        raise Impossible("this is not simulated, or it is deleted, or a cell is down")
    target, known = _up(cloud, event.words[1]), cloud.row(server).host
    if known not in HOSTS or cloud.is_up(HOSTS[known]) or HOSTS[known].cell != target.cell:
        raise Impossible("it is not on another host of that cell that is down")
    if target == server.host:
        raise Impossible("its guest runs there, and the hypervisor takes no second one")
    move = evacuate(cloud, server, target, event.option("fails"))
    cloud.begin(server, "evacuation", move, target)


def _all_answer(cloud: Cloud) -> bool:
    return all(cell.answers for cell in cloud.cells.values())


def _reset(cloud: Cloud, event: Event) -> None:
    """`openstack server set --state active`: it changes nothing of where the guest is.

    Nova looks at power states every ten minutes, and an audit comes later than that.
    """
    server = cloud.servers.get(event.words[0])
    if server is None or not server.settled or not cloud.has_row(server) or not _all_answer(cloud):
        raise Impossible("there is no such server, or a cell is down")
    row = cloud.row(server)
    runs = (server.uuid, row.host) in cloud.guests or cloud.is_misplaced(server)
    if row.vm_state != "error" or row.deleted or not runs:
        raise Impossible("it is not in ERROR, or no guest of it runs")
    cloud.save(server, vm_state="active", power_state=0)


def _shelve(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, *MOVABLE)
    host = _on_host_that_is_up(cloud, server)
    shelving = shelve(cloud, server, not event.option("keep"))
    cloud.begin(server, "shelving", shelving, host)


def _unshelve(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, "shelved_offloaded")
    host = _up(cloud, event.words[1])
    if server.host or host.cell != server.cell or cloud.ports_of(server):
        raise Impossible("it is on a host, or the host is of another cell")
    _fits(host, server.flavor.name)
    unshelving = unshelve(cloud, server, host, event.option("fails"))
    cloud.begin(server, "unshelving", unshelving, host)


def _attach(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, *MOVABLE)
    host = _on_host_that_is_up(cloud, server)
    port = uuid_of(f"port of {server.name}, {cloud.now}")
    cloud.begin(server, "attachment", attach(cloud, server, port, 1000), host)


def _detach(cloud: Cloud, event: Event) -> None:
    server = _server(cloud, event, *MOVABLE)
    host = _on_host_that_is_up(cloud, server)
    ports = [port for port in cloud.ports_of(server) if port.provider == host.card]
    if not ports:
        raise Impossible("it has no port")
    detaching = detach(cloud, server, ports[0], event.lost)
    cloud.begin(server, "detachment", detaching, host)


def _under_way(cloud: Cloud, event: Event) -> Server:
    server = cloud.servers.get(event.words[0])
    if server is None or server.operation is None or cloud.is_blocked(server):
        raise Impossible("nothing is done with it, or its cell is down")
    return server


def _stop(cloud: Cloud, event: Event, stop: Callable[[Cloud, Host], None]) -> None:
    """The host's service dies with every operation on it."""
    host = _up(cloud, event.words[0])
    for server in cloud.servers.values():
        if server.operation and host in server.working:
            cloud.crash(server)
    stop(cloud, host)


def _start(cloud: Cloud, event: Event) -> None:
    host = HOSTS[event.words[0]]
    if host.name not in cloud.stopped or not cloud.cells[host.cell].answers:
        raise Impossible("it runs")
    start_service(cloud, host)


def _force_down(cloud: Cloud, event: Event, down: bool) -> None:
    host = HOSTS[event.words[0]]
    if cloud.service(host).forced_down == down:
        raise Impossible("it is so already")
    force_down(cloud, host, down)


def _archive(cloud: Cloud) -> None:
    rows = [row for cell in cloud.cells.values() for row in cell.servers.values()]
    if not any(row.deleted and not row.archived for row in rows):
        raise Impossible("nothing is deleted")
    archive(cloud)


def _cell(cloud: Cloud, event: Event, answers: bool) -> Cell:
    cell = cloud.cells[event.words[0]]
    if cell.answers != answers:
        raise Impossible("it is so already")
    return cell


def _freeze(cloud: Cloud, event: Event) -> None:
    cell = _cell(cloud, event, answers=True)
    cell.replica = cell.replica or cell.copy()


def _thaw(cloud: Cloud, event: Event) -> None:
    cell = cloud.cells[event.words[0]]
    if cell.replica is None:
        raise Impossible("it is no replica")
    cell.replica = None


def _cell_down(cloud: Cloud, event: Event) -> None:
    _cell(cloud, event, answers=True).answers = False


def _cell_up(cloud: Cloud, event: Event) -> None:
    _cell(cloud, event, answers=False).answers = True


def _back_up(cloud: Cloud) -> None:
    cloud.back_up()


def _restore_ledger(cloud: Cloud) -> None:
    if cloud.backup is None or not all(server.settled for server in cloud.servers.values()):
        raise Impossible("there is no backup, or Nova is about to write")
    cloud.restore()


def _hide_ports(cloud: Cloud, event: Event) -> None:
    server = cloud.servers.get(event.words[0])
    ports = cloud.ports_of(server) if server else ()
    if not ports:
        raise Impossible("it has no port")
    cloud.hidden_ports |= {port.uuid for port in ports}


def _show_ports(cloud: Cloud) -> None:
    if not cloud.hidden_ports:
        raise Impossible("none is hidden")
    cloud.hidden_ports.clear()


def _wait(cloud: Cloud, event: Event) -> None:
    seconds = int(event.words[0])
    if timedelta(seconds=seconds) > timedelta(seconds=10):
        cloud.finish_short_pauses()
    cloud.wait(seconds)
    if seconds > bare_metal.REPORTS_EVERY:
        bare_metal.report(cloud)


def _plant(cloud: Cloud, event: Event) -> None:
    name, kind = event.words
    server = cloud.servers.get(name)
    if server is None or server.busy or any(not cell.answers for cell in cloud.cells.values()):
        raise Impossible("the server is busy")
    if server.uuid.replace("-", "") in server.moves:
        raise Impossible("its consumer has another name")
    {**DRIFTS, **GUEST_DRIFTS}[kind].plant(cloud, server)


VERBS: dict[str, Callable[[Cloud, Event], None]] = {
    "boot": _boot,
    "delete": _delete,
    "soft-delete": _soft_delete,
    "restore": _restore,
    "resize": _resize,
    "confirm": _confirm,
    "revert": _revert,
    "live-migrate": _live_migrate,
    "retry": _retry,
    "evacuate": _evacuate,
    "reset": _reset,
    "shelve": _shelve,
    "unshelve": _unshelve,
    "attach": _attach,
    "detach": _detach,
    "step": lambda cloud, event: _discard(cloud.advance(_under_way(cloud, event))),
    "finish": lambda cloud, event: cloud.finish([_under_way(cloud, event)]),
    "crash": lambda cloud, event: cloud.crash(_under_way(cloud, event)),
    "stop": lambda cloud, event: _stop(cloud, event, stop_service),
    "power-off": lambda cloud, event: _stop(cloud, event, power_off),
    "start": _start,
    "force-down": lambda cloud, event: _force_down(cloud, event, down=True),
    "unforce-down": lambda cloud, event: _force_down(cloud, event, down=False),
    "archive": lambda cloud, event: _archive(cloud),
    "freeze": _freeze,
    "thaw": _thaw,
    "cell-down": _cell_down,
    "cell-up": _cell_up,
    "back-up": lambda cloud, event: _back_up(cloud),
    "put-back": lambda cloud, event: _restore_ledger(cloud),
    "hide-ports": _hide_ports,
    "show-ports": lambda cloud, event: _show_ports(cloud),
    "boot-metal": _boot_metal,
    "stop-metal": lambda cloud, event: bare_metal.stop(cloud, *event.words),
    "start-metal": lambda cloud, event: bare_metal.start(cloud, *event.words),
    "take-over": lambda cloud, event: bare_metal.take_over(cloud, *event.words),
    "follow": lambda cloud, event: bare_metal.follow(cloud, *event.words),
    "lose-node": lambda cloud, event: bare_metal.lose_node(cloud, *event.words),
    "delete-service": lambda cloud, event: bare_metal.delete_service(cloud, *event.words),
    "lose-claim": lambda cloud, event: bare_metal.lose_claim(cloud, *event.words),
    "wait": _wait,
    "plant": _plant,
}


def _discard(_: object) -> None:
    """Ignore a value, so that a lambda returns None."""
