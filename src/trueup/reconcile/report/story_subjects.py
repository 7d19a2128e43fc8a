# SPDX-License-Identifier: Apache-2.0
"""Subjects of stories: from an operator's words to one subject, or to its candidates."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from trueup.reconcile.audit import Observation
from trueup.reconcile.collect.scope import spellings
from trueup.reconcile.collect.selection import not_found
from trueup.reconcile.facts import Facts, as_compared
from trueup.reconcile.report.instance_story import consumer_story
from trueup.reconcile.report.provider_story import host_story, provider_story
from trueup.reconcile.report.story import Story

KINDS = ("instance", "provider", "consumer", "host")


@dataclass(eq=False)
class SubjectAmbiguous(Exception):
    """Several subjects have this name; `candidates` are sentences that distinguish them."""

    kind: str
    name: str
    candidates: tuple[str, ...]


def uuid_of(kind: str, name: str, facts: Facts) -> str:
    """The uuid of a subject by its name or uuid; for a host or its node, the name of the host.

    Among instances with one name, living ones come before deleted ones. Raises SubjectAmbiguous,
    SelectionUnknown, SelectionUnread.
    """
    found = _FOUND[kind](name, facts)
    if not found:
        raise not_found(kind, name, _NAMES[kind](facts), facts)
    if len(found) > 1:
        raise SubjectAmbiguous(kind, name, tuple(found.values()))
    return next(iter(found))


def story(kind: str, uuid: str, seen: Observation) -> Story:
    """The story of a subject. Raises as `uuid_of`."""
    uuid = uuid_of(kind, uuid, seen.facts)
    return _STORIES[kind](uuid, seen)


def _instances(name: str, facts: Facts) -> dict[str, str]:
    if name in {*facts.instance_rows, *facts.consumers, *facts.builds, *facts.mappings}:
        return {name: name}
    living = {
        uuid: f"{uuid}, {row.vm_state}, on host {row.host}, project {row.project}"
        for uuid, row in sorted(facts.alive.items())
        if row.name == name
    }
    return living or {
        uuid: f"{uuid}, deleted, project {row.project}"
        for uuid, row in sorted(facts.deleted.items())
        if row.name == name
    }


def _providers(name: str, facts: Facts) -> dict[str, str]:
    if name in facts.providers:
        return {name: name}
    listed = {
        row.uuid: f"{row.uuid}, of the tree {facts.provider_names.get(row.root, row.root)}"
        for row in facts.providers_by_name.get(name, ())
    }
    return listed or _unlisted(name, facts)


def _unlisted(name: str, facts: Facts) -> dict[str, str]:
    """Providers that Placement does not list and an audit may name."""
    of_nodes = {
        row.uuid: f"{row.uuid}, of the compute node of host {row.host}"
        for row in facts.compute_nodes
        if row.uuid and name in (row.uuid, row.node)
    }
    return of_nodes or {row.subject: name for row in facts.ledger_faults if row.subject == name}


def _consumers(name: str, facts: Facts) -> dict[str, str]:
    known = {*facts.consumers, *facts.instance_rows, *facts.builds, *facts.mappings}
    known |= {row.uuid for row in facts.migrations}
    return {name: name} if name in known else {}


def _hosts(name: str, facts: Facts) -> dict[str, str]:
    known = {row.host for row in facts.compute_nodes}
    spelled = spellings(facts.compute_nodes).get(as_compared(name))
    if name not in known and spelled:
        return {spelled: f"{spelled}, in other letters"}
    known |= {row.host for row in facts.deleted_compute_nodes}
    known |= {row.host for row in facts.host_mappings}
    if name in known:
        return {name: name}
    of_node = {row.host for row in facts.compute_nodes if row.node == name}
    found = of_node or ({name} & facts.providers_by_name.keys())
    return {host: f"{host}, with a node of this name" for host in sorted(found)}


def _places(facts: Facts) -> Iterable[str]:
    return chain(facts.providers_by_name, (row.host for row in facts.compute_nodes))


# The names to suggest instead of an unknown one.
_NAMES: dict[str, Callable[[Facts], Iterable[str]]] = {
    "instance": lambda facts: (row.name for row in facts.alive.values()),
    "provider": _places,
    "consumer": lambda facts: facts.consumers,
    "host": _places,
}
_FOUND: dict[str, Callable[[str, Facts], dict[str, str]]] = {
    "instance": _instances,
    "provider": _providers,
    "consumer": _consumers,
    "host": _hosts,
}
_STORIES: dict[str, Callable[[str, Observation], Story]] = {
    # If no cell that answered has the instance, the story of its consumer says what it holds.
    "instance": consumer_story,
    "provider": provider_story,
    "consumer": consumer_story,
    "host": host_story,
}
