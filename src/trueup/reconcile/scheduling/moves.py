# SPDX-License-Identifier: Apache-2.0
"""The request for a move: Nova's conductor makes it of a server's first request. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import Flavor, ScheduledServer, ScheduleRequest, SchedulerOptions
from trueup.reconcile.scheduling.numa import topology_of
from trueup.reconcile.scheduling.query import Refused

Kind = Literal["live-migration", "resize", "evacuate", "unshelve"]
KINDS: tuple[Kind, ...] = ("live-migration", "resize", "evacuate", "unshelve")
_UNSHELVED = "shelved_offloaded"
# PARITY: the states in which nova-api accepts a move (`check_instance_state`).
STATES: Mapping[Kind, tuple[str, ...]] = {
    "live-migration": ("active", "paused"),
    "resize": ("active", "stopped"),
    "evacuate": ("active", "stopped", "error"),
    "unshelve": (_UNSHELVED,),
}


class MoveImpossible(Exception):
    """Nova does not ask its scheduler about such a move of this server; the text says why."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a server; a resize has a new flavor."""

    kind: Kind
    flavor: Flavor | None = None


def refusal(move: Move, server: ScheduledServer, *, host_up: bool | None) -> str:
    """Why Nova refuses the move of this server before it looks for a host; empty: it does not.

    `host_up`: whether the service of its host is up; None: this is not known.
    """
    if server.vm_state not in STATES[move.kind]:
        return f"it is {server.vm_state}, and not {' or '.join(STATES[move.kind])}"
    if move.kind != "unshelve" and host_up is not None and host_up == (move.kind == "evacuate"):
        return f"the service of its host is {'up' if host_up else 'down'}"
    busy = server.task_state and move.kind != "evacuate"
    return f"its task {server.task_state} has not ended" if busy else ""


def moved(
    request: ScheduleRequest, move: Move, server: ScheduledServer, options: SchedulerOptions
) -> ScheduleRequest:
    """The request for this move. Raises MoveImpossible and Refused.

    PARITY: Nova forgets forced hosts, and keeps the server in its cell: a resize across cells needs
    a policy that allows it.
    """
    if move.kind == "unshelve":
        if server.vm_state != _UNSHELVED:
            raise MoveImpossible(f"it is {server.vm_state}, and not {_UNSHELVED}")
        return replace(request, cell=server.cell, forced_hosts=(), forced_nodes=())
    if server.host is None:
        raise MoveImpossible("it is on no host")
    request = replace(request, cell=server.cell, forced_hosts=(), forced_nodes=())
    if move.flavor is None:
        return replace(request, ignored=frozenset({server.host}))
    stays = options.allow_resize_to_same_host
    request = replace(request, ignored=frozenset() if stays else frozenset({server.host}))
    if move.flavor.name == request.flavor.name:
        return request
    topology = topology_of(move.flavor, request.image)
    if isinstance(topology, Unknown):
        raise Refused(topology.reason)
    return replace(
        request,
        flavor=move.flavor,
        numa=topology,
        devices=tuple(row for row in request.devices if row.alias is None),
        unread=frozenset(_unread(move.flavor.extra_specs, has_cells=topology is not None)),
    )


def _unread(specs: Mapping[str, str], *, has_cells: bool) -> Iterator[str]:
    """The filters of Nova whose input it makes of extra specs that are not read here."""
    if any(key.startswith(("resources:", "hw:pmem")) for key in specs):
        yield "NUMATopologyFilter"
    if "pci_passthrough:alias" in specs:
        # The options of nova-api have the aliases.
        yield "PciPassthroughFilter"
        if has_cells:
            yield "NUMATopologyFilter"
