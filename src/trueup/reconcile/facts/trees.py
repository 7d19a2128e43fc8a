# SPDX-License-Identifier: Apache-2.0
"""Trees of providers: where parents and roots contradict each other. Pure."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.facts.providers import Provider

HOST_BELOW = "it is that of a compute node, and below another provider"


@dataclass(frozen=True, slots=True)
class BrokenTree:
    """A provider whose parents do not lead to its root, or a host's provider that is not a root.

    `roots` are the roots of all affected trees. `what` is the reason in words.
    """

    provider: Provider
    what: str
    roots: frozenset[str]

    def __str__(self) -> str:
        return f"{self.provider.name}: {self.what}"


def broken_trees(
    providers: Mapping[str, Provider], of_hosts: Container[str]
) -> Iterator[BrokenTree]:
    """The providers whose parents do not lead to their root, and hosts that are not roots.

    They are in the given order. `of_hosts` has the uuids of all compute nodes: Nova makes each of
    their providers a root, also for bare metal nodes.
    """
    for row in providers.values():
        above = providers.get(row.parent or "")
        # PERF: nearly all providers are roots, or are right below theirs.
        if row.parent is None and row.root == row.uuid:
            continue
        of_host = row.uuid in of_hosts
        if not of_host and above and above.parent is None and row.root == above.uuid == above.root:
            continue
        if row.sharing and row.root not in providers:
            # For a selection, pools are read without the rest of their trees.
            continue
        path = tuple(_path(row, providers))
        what = _broken(row, path) or (HOST_BELOW if of_host else "")
        if what:
            roots = frozenset(step.root for step in path) | {path[-1].uuid}
            yield BrokenTree(row, what, roots)


def _path(row: Provider, providers: Mapping[str, Provider]) -> Iterator[Provider]:
    """The provider, its parent and so on, as far as they are known, each once."""
    seen: set[str] = set()
    step: Provider | None = row
    while step is not None and step.uuid not in seen:
        seen.add(step.uuid)
        yield step
        step = providers.get(step.parent or "")


def _broken(row: Provider, path: tuple[Provider, ...]) -> str:
    top = path[-1]
    if top.parent in {step.uuid for step in path}:
        return "its parents form a circle"
    if top.parent is not None:
        return "a parent in its tree is not listed"
    return "" if row.root == top.uuid else "its root is not the top of its tree"
