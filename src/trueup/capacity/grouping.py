# SPDX-License-Identifier: Apache-2.0
"""Which hosts the server groups leave to their members, while servers are moved. Pure.

PARITY: for Nova the hosts of an affinity group are those of all its living members, also of the one
that moves. So a member goes only to a host on which another one is, and the last member nowhere.
A soft policy forbids nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from trueup.reconcile.facts import Facts, Instance, ServerGroup

AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"


class Groups:
    """The server groups of a cloud, and where their members are by now."""

    def __init__(self, facts: Facts) -> None:
        self._group_of = facts.once(_groups_by_member)
        self._alive = facts.alive
        self._moved: dict[str, str] = {}

    def group_of(self, server: Instance) -> ServerGroup | None:
        """The group that keeps a server from some hosts; None: there is none."""
        return self._group_of.get(server.uuid)

    def allowed(self, server: Instance) -> Callable[[str], bool]:
        """Whether the group of a server leaves it another host, by the host's name."""
        group = self.group_of(server)
        if group is None:
            return lambda _: True
        here = Counter(
            host
            for member in group.members
            if member != server.uuid and (host := self._host_of(member))
        )
        if group.policy == AFFINITY:
            return lambda host: host in here
        return lambda host: here[host] < group.max_per_host

    def move(self, server: Instance, host: str) -> None:
        """The server is on this host from now on."""
        self._moved[server.uuid] = host

    def take_back(self) -> None:
        """Undo all moves so far."""
        self._moved.clear()

    def _host_of(self, member: str) -> str | None:
        if member in self._moved:
            return self._moved[member]
        row = self._alive.get(member)
        return row.host if row else None


def _groups_by_member(facts: Facts) -> Mapping[str, ServerGroup]:
    """The groups that forbid something, by each of their members."""
    return {
        member: group
        for group in facts.server_groups or ()
        if group.policy in (AFFINITY, ANTI_AFFINITY)
        for member in group.members
    }
