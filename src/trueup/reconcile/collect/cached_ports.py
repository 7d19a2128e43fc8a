# SPDX-License-Identifier: Apache-2.0
"""Reads Nova's network caches where they may contradict Neutron.

A Neutron that was restored does not list a port that was made since. What the port holds would
look like a leak, and a port that lost its allocation is not in the facts of its instance.
PERF: a network cache is most of an instance's bytes. So it is asked for only if an instance holds
more of the classes of ports than its ports request, or less.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from trueup.reconcile.collect.coverage import Cells
from trueup.reconcile.facts import PORT_CLASSES, Amounts, Instance, Port, SourceStatus
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable


def with_unlisted_ports(
    cloud: Cloud,
    cells: Cells,
    consumers: Mapping[str, Amounts],
    ports: Iterable[Port],
    of_neutron: Iterable[SourceStatus],
) -> None:
    """Add to the instances of these cells the ports that Neutron does not list as theirs."""
    answered = cloud.neutron is not None and any(status.answered for status in of_neutron)
    holders = _holding_more(cells.instances, consumers, ports) if answered else frozenset()
    if cloud.neutron is None or not holders:
        return
    replies = cells.ask(lambda cell: cloud.nova.cached_ports(cell, holders)).values()
    cached = {uuid: known for reply in replies for uuid, known in reply.items()}
    try:
        listed = cloud.neutron.listed(frozenset(chain.from_iterable(cached.values())))
    except (Unreachable, AccessDenied):
        # SAFETY: then each of them may still be there.
        listed = frozenset()
    cells.add_ports(
        {
            uuid: tuple(port for port in known if (uuid, port) not in listed)
            for uuid, known in cached.items()
        }
    )


def read_other_holders(
    cloud: Cloud, cells: Cells, consumers: Mapping[str, Amounts], ports: Iterable[Port]
) -> None:
    """For a selection: also read the instances that have a port which Neutron gives to another.

    PERF: finding them reads all network caches, so only the ports of instances that hold less than
    their ports request are looked for.
    """
    every = tuple(ports)
    lacking = {
        device
        for device, requested in _requested(every).items()
        if not requested <= _of_ports(consumers.get(device, {}))
    }
    wanted = frozenset(port.id for port in every if port.device in lacking)
    if not wanted:
        return
    replies = cells.ask(lambda cell: cloud.nova.port_holders(cell, wanted)).values()
    known = {row.uuid for row in cells.instances}
    if others := frozenset(chain.from_iterable(replies)) - known:
        cells.ask(lambda cell: cloud.nova.instances(cell, others))


def _requested(ports: Iterable[Port]) -> dict[str, Counter[str]]:
    """What the ports of each instance request."""
    requested: dict[str, Counter[str]] = {}
    for port in ports:
        for group in port.request_groups:
            requested.setdefault(port.device, Counter()).update(group.resources)
    return requested


def _holding_more(
    instances: Iterable[Instance], consumers: Mapping[str, Amounts], ports: Iterable[Port]
) -> frozenset[str]:
    """The living instances that hold more of a class of ports than their ports request."""
    requested = _requested(ports)
    return frozenset(
        row.uuid
        for row in instances
        if not row.deleted
        # PERF: most hold nothing of these classes.
        and (held := _of_ports(consumers.get(row.uuid, {})))
        and not held <= requested.get(row.uuid, Counter())
    )


def _of_ports(amounts: Amounts) -> Counter[str]:
    found: Counter[str] = Counter()
    for held in amounts.values():
        for name, amount in held.items():
            if name.startswith(PORT_CLASSES):
                found[name] += amount
    return found
