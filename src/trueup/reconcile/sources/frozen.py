# SPDX-License-Identifier: Apache-2.0
"""A Neutron and hypervisors in memory, filled from facts: a rehearsal writes to them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from trueup.reconcile.facts import Port
from trueup.reconcile.sources.libvirt import HostDomains, Hypervisors
from trueup.reconcile.sources.neutron import Neutron, allocation_in
from trueup.reconcile.sources.nova.frozen import Accepted

_OK = 200


class FrozenNeutron(Neutron):
    """Keeps ports by uuid. It knows no network agent."""

    def __init__(self, ports: Iterable[Port]) -> None:
        self._ports = {row.id: row for row in ports}

    @property
    def left(self) -> tuple[Port, ...]:
        """The ports as they are now."""
        return tuple(self._ports.values())

    def port(self, uuid: str) -> Mapping[str, Any] | None:
        row = self._ports.get(uuid)
        if row is None:
            return None
        return {"binding:profile": row.profile, "revision_number": row.revision}

    def set_profile(
        self, uuid: str, profile: Mapping[str, Any], revision: int | str | None
    ) -> Accepted:
        """Replaces the profile. There is no other writer, so the revision is always current."""
        assert isinstance(revision, int)
        self._ports[uuid] = replace(
            self._ports[uuid],
            profile=dict(profile),
            allocation=allocation_in(profile, uuid),
            revision=revision + 1,
        )
        return Accepted(_OK)


class FrozenHypervisors(Hypervisors):
    """Keeps the XML of domains by (host, uuid). None of its guests runs."""

    def __init__(self, definitions: Mapping[tuple[str, str], str]) -> None:
        self._definitions = dict(definitions)

    def domains(self, hosts: Iterable[str]) -> Iterator[HostDomains]:
        yield from (HostDomains(host) for host in hosts)

    def has(self, host: str, domain: str) -> bool:
        return (host, domain) in self._definitions

    def definition(self, host: str, domain: str) -> str | None:
        return self._definitions.get((host, domain))

    def undefine(self, host: str, domain: str, discards: Collection[str]) -> str:
        del self._definitions[host, domain]
        return ""
