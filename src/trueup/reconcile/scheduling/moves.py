# SPDX-License-Identifier: Apache-2.0
"""The request for a move: Nova's conductor makes it of a server's first request. Pure."""

from dataclasses import dataclass, replace
from typing import Literal

from trueup.reconcile.facts import Flavor, ScheduledServer, ScheduleRequest, SchedulerOptions

Kind = Literal["live-migration", "resize", "evacuate", "unshelve"]
KINDS: tuple[Kind, ...] = ("live-migration", "resize", "evacuate", "unshelve")
_UNSHELVED = "shelved_offloaded"


class MoveImpossible(Exception):
    """Nova does not ask its scheduler about such a move of this server; the text says why."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a server; a resize has a new flavor."""

    kind: Kind
    flavor: Flavor | None = None


def moved(
    request: ScheduleRequest, move: Move, server: ScheduledServer, options: SchedulerOptions
) -> ScheduleRequest:
    """The request for this move. Raises MoveImpossible.

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
    keys = (*move.flavor.extra_specs, *(key.replace("_", ":", 1) for key in request.image))
    stays = options.allow_resize_to_same_host
    return replace(
        request,
        flavor=move.flavor,
        ignored=frozenset() if stays else frozenset({server.host}),
        numa=any(key.startswith(_OF_NUMA) for key in keys),
        pci=any(key == "pci_passthrough:alias" for key in keys),
    )


# Properties from which Nova makes a NUMA topology.
_OF_NUMA = ("hw:numa_", "hw:cpu_policy", "hw:mem_page_size", "hw:cpu_dedicated_mask", "hw:pmem")
