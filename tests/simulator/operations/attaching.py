# SPDX-License-Identifier: Apache-2.0
"""Attaching and detaching ports with guaranteed bandwidth.

Nova sets no task state for it. For a moment the allocation and the ports do not match.
"""

from tests.simulator.cloud import SHORT, Cloud, Operation, Server
from tests.simulator.places import BANDWIDTH
from tests.simulator.rows import Amounts, PortRow

LEAKED = ("leaked-port-allocation", "wrong-amount")


def attach(cloud: Cloud, server: Server, port: str, kilobits: int) -> Operation:
    """ComputeManager.attach_interface: the claim grows, then the port is bound."""
    assert server.host is not None
    card = server.host.card
    before = cloud.acceptable_to(server.uuid)[0]
    after = _changed(before, card, kilobits)
    cloud.write(**{server.uuid: _changed(cloud.held(server.uuid), card, kilobits)})
    cloud.is_right(server.uuid, after)
    cloud.ends(server, server.uuid, before, *LEAKED)
    yield SHORT
    cloud.ports[port] = PortRow(port, server.uuid, kilobits, card)
    cloud.is_right(server.uuid, after)


def detach(cloud: Cloud, server: Server, port: PortRow, lost: bool = False) -> Operation:
    """ComputeManager.detach_interface: the port is unbound, then the claim shrinks.

    `lost`: Placement refuses the request, and the bandwidth stays allocated.
    """
    card = port.provider or ""
    before = cloud.acceptable_to(server.uuid)[0]
    after = _changed(before, card, -port.kilobits)
    cloud.set_port(port, server="", provider=None)
    cloud.ends(server, server.uuid, after, *LEAKED)
    yield SHORT
    if lost:
        cloud.leave(server.uuid, *LEAKED)
    else:
        cloud.write(**{server.uuid: _changed(cloud.held(server.uuid), card, -port.kilobits)})
    cloud.is_right(server.uuid, after)


def _changed(amounts: Amounts, card: str, kilobits: int) -> Amounts:
    held = amounts.get(card, {}).get(BANDWIDTH, 0) + kilobits
    others = {uuid: amount for uuid, amount in amounts.items() if uuid != card}
    return {**others, card: {BANDWIDTH: held}} if held > 0 else others
