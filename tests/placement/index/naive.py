# SPDX-License-Identifier: Apache-2.0
"""Candidates by their definition: try every provider for every part of the request.

Slow, and so plain that it can be read as the specification.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.placement.index.clouds import SHARES, Host
from trueup.model.requests import CandidateRequest, RequestGroup

Part = tuple[RequestGroup, tuple[tuple[str, int], ...]]


def naive_candidates(hosts: Iterable[Host], request: CandidateRequest) -> set[tuple]:
    """All candidates, each with the providers of its groups."""
    cloud = _Cloud(tuple(hosts))
    parts: list[Part] = []
    for group in request.groups:
        if group.suffix:
            parts.append((group, group.resources))
        else:
            parts += [(group, (resource,)) for resource in group.resources]
    found = set()
    for anchor in cloud.anchors(request):
        givers = [cloud.givers(anchor, group, resources) for group, resources in parts]
        for choice in itertools.product(*givers):
            if cloud.is_good(choice, parts, request):
                found.add(_answer(choice, parts))
    return found


def _answer(choice: tuple[Host, ...], parts: list[Part]) -> tuple:
    amounts: Counter[tuple[str, str]] = Counter()
    mappings: dict[str, set[str]] = {}
    for host, (group, resources) in zip(choice, parts, strict=True):
        mappings.setdefault(group.suffix, set()).add(host.name)
        for name, amount in resources:
            amounts[host.name, name] += amount
    satisfied = frozenset((suffix, frozenset(names)) for suffix, names in mappings.items())
    return frozenset(amounts.items()), satisfied


class _Cloud:
    def __init__(self, hosts: tuple[Host, ...]):
        self.hosts = hosts
        self.named = {host.name: host for host in hosts}

    def anchors(self, request: CandidateRequest) -> list[Host]:
        """The roots for which there may be candidates."""
        return [
            host
            for host in self.hosts
            if host.parent is None
            and request.root_required <= set(host.traits)
            and not request.root_forbidden & set(host.traits)
        ]

    def givers(
        self, anchor: Host, group: RequestGroup, resources: tuple[tuple[str, int], ...]
    ) -> list[Host]:
        """The providers that may satisfy a part of the request, if it were the only one."""
        return [host for host in self.hosts if self._may_give(host, anchor, group, resources)]

    def is_good(
        self, choice: tuple[Host, ...], parts: list[Part], request: CandidateRequest
    ) -> bool:
        return (
            self._has_room(choice, parts)
            and self._has_traits_together(choice, parts)
            and self._is_isolated(choice, parts, request)
            and all(self._is_one_subtree(choice, parts, s) for s in request.same_subtrees)
            and (request.nested or self._is_flat(choice, parts))
        )

    def _may_give(
        self, host: Host, anchor: Host, group: RequestGroup, resources: Iterable[tuple[str, int]]
    ) -> bool:
        traits, inside = set(host.traits), set(host.aggregates)
        if not group.suffix:
            # The aggregates of a root are those of its whole tree.
            good = self._in_all(group, host) or self._in_all(group, anchor)
            bad = group.forbidden_aggregates & (inside | set(anchor.aggregates))
        else:
            good = self._in_all(group, host) and all(any_of & traits for any_of in group.required)
            bad = group.forbidden_aggregates & inside
        return bool(
            good
            and not bad
            and not group.forbidden & traits
            and self._reaches(host, anchor, group)
            and all(self._fits(host, name, amount) for name, amount in resources)
        )

    def _in_all(self, group: RequestGroup, host: Host) -> bool:
        return all(any_of & set(host.aggregates) for any_of in group.member_of)

    def _reaches(self, host: Host, anchor: Host, group: RequestGroup) -> bool:
        own = self._root(host)
        if group.in_tree is not None and own != self._root(self.named[group.in_tree]):
            return False
        if own == anchor:
            return True
        if SHARES not in host.traits or (group.in_tree is not None and not group.suffix):
            return False
        if not group.suffix and not self._in_all(group, host):
            return False
        return any(
            self._root(other) == anchor and set(other.aggregates) & set(host.aggregates)
            for other in self.hosts
        )

    def _fits(self, host: Host, name: str, amount: int) -> bool:
        free = host.totals.get(name, 0) - host.used.get(name, 0)
        return (
            name in host.totals
            and amount <= free
            and amount <= host.max_unit
            and amount % host.step_size == 0
        )

    def _has_room(self, choice: tuple[Host, ...], parts: list[Part]) -> bool:
        amounts: Counter[tuple[str, str]] = Counter()
        for host, (_, resources) in zip(choice, parts, strict=True):
            for name, amount in resources:
                amounts[host.name, name] += amount
        for (host_name, name), amount in amounts.items():
            host = self.named[host_name]
            free = host.totals[name] - host.used.get(name, 0)
            if amount > free or amount > host.max_unit:
                return False
        return True

    def _has_traits_together(self, choice: tuple[Host, ...], parts: list[Part]) -> bool:
        spread = [(h, g) for h, (g, _) in zip(choice, parts, strict=True) if not g.suffix]
        traits = {trait for host, _ in spread for trait in host.traits}
        return all(any_of & traits for _, group in spread for any_of in group.required)

    def _is_isolated(
        self, choice: tuple[Host, ...], parts: list[Part], request: CandidateRequest
    ) -> bool:
        alone = [host for host, (group, _) in zip(choice, parts, strict=True) if group.suffix]
        return not request.isolate or len({host.name for host in alone}) == len(alone)

    def _is_one_subtree(
        self, choice: tuple[Host, ...], parts: list[Part], suffixes: frozenset[str]
    ) -> bool:
        below = [h for h, (g, _) in zip(choice, parts, strict=True) if g.suffix in suffixes]
        return any(all(top in self._line(host) for host in below) for top in below)

    def _is_flat(self, choice: tuple[Host, ...], parts: list[Part]) -> bool:
        givers = {h.name for h, (_, resources) in zip(choice, parts, strict=True) if resources}
        return len({self._root(self.named[name]).name for name in givers}) == len(givers)

    def _root(self, host: Host) -> Host:
        *_, root = self._line(host)
        return root

    def _line(self, host: Host) -> Iterator[Host]:
        while True:
            yield host
            if host.parent is None:
                return
            host = self.named[host.parent]
