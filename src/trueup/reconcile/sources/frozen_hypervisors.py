# SPDX-License-Identifier: Apache-2.0
"""Hypervisors that have only some definitions, in memory: the ones that a rehearsal writes to."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from trueup.reconcile.sources.libvirt import HostDomains, Hypervisors


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
