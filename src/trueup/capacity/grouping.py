# SPDX-License-Identifier: Apache-2.0
"""Which hosts the server groups leave to their members, while servers are moved. Pure.

PARITY: for Nova the hosts of an affinity group are those of all its living members, also of the one
that moves. So a member goes only to a host on which another one is, and the last member nowhere.
A soft policy forbids nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

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
        here = self._others(server, group)
        if group.policy == AFFINITY:
            return lambda host: host in here
        return lambda host: here[host] < group.max_per_host

    def nowhere(self, server: Instance, gone: Collection[str]) -> bool:
        """Whether the others of its affinity group are only on hosts that are gone, if on any.

        PERF: as a rule they are on the server's own; then no other host has to be looked at.
        """
        group = self.group_of(server)
        if group is None or group.policy != AFFINITY:
            return False
        return all(host in gone for host in self._others(server, group))

    def move(self, server: Instance, host: str) -> None:
        """The server is on this host from now on."""
        self._moved[server.uuid] = host

    def take_back(self) -> None:
        """Undo all moves so far."""
        self._moved.clear()

    def _others(self, server: Instance, group: ServerGroup) -> Counter[str]:
        """How many other members of its group are on each host."""
        return Counter(
            host
            for member in group.members
            if member != server.uuid and (host := self._host_of(member))
        )

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
