# SPDX-License-Identifier: Apache-2.0
"""The stories of a resource provider and of a compute host."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from trueup.reconcile.audit import Observation
from trueup.reconcile.facts import ComputeNode, ComputeService, Facts, Provider
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.story import Section, Story, at, concern, make_story, silent
from trueup.reconcile.rules.residence import Undetermined, provider_of
from trueup.reconcile.verdicts import Subject
from trueup.reconcile.wording import counted


def provider_story(uuid: str, seen: Observation) -> Story:
    """The story of one provider."""
    facts = seen.facts
    provider = facts.providers.get(uuid)
    if provider is None:
        return _story_of_unlisted(uuid, seen)
    holders = _holders([uuid], facts)
    nodes = facts.nodes_by_uuid.get(provider.root, ())
    about = concern(seen, {uuid, provider.name, *holders, *(row.host for row in nodes)})
    sections = [
        Section("Placement says", tuple(_provider(provider, facts))),
        Section("Inventory and usage", tuple(_inventories(provider, facts))),
        Section("Who holds its resources", tuple(_who_holds(holders, facts))),
        Section("Nova says", (*_nodes(nodes, facts), *silent(facts))),
    ]
    return make_story(Subject("provider", uuid), provider.name, about, sections)


def _story_of_unlisted(uuid: str, seen: Observation) -> Story:
    """The story of a provider that Placement does not list: its compute node or its rows name it.

    For rows without a provider, `uuid` is the subject of their fault.
    """
    facts = seen.facts
    nodes = facts.nodes_by_uuid.get(uuid, ())
    sections = [
        Section("Placement says", ("It lists no provider with this uuid.",)),
        Section("Nova says", (*_nodes(nodes, facts), *silent(facts))),
    ]
    about = concern(seen, {uuid, *(row.host for row in nodes)})
    return make_story(Subject("provider", uuid), uuid, about, sections)


def host_story(name: str, seen: Observation) -> Story:
    """The story of one compute host: its services, nodes and providers."""
    facts = seen.facts
    nodes = [row for row in facts.compute_nodes if row.host == name]
    providers = [row for node in nodes for row in facts.trees.get(node.uuid, ())]
    called = dict.fromkeys([*(node.node for node in nodes), name])
    # Where uuids clash, the provider has the name of the node.
    providers = providers or [
        row for alias in called for row in facts.providers_by_name.get(alias, ())
    ]
    holders = _holders([row.uuid for row in providers], facts)
    living = [uuid for uuid, row in facts.alive.items() if row.host == name]
    about = concern(seen, {name, *living, *holders, *(row.uuid for row in providers)})
    sections = [
        Section("Nova says", (*_host(name, nodes, facts), *silent(facts))),
        *(
            Section(f"Provider {row.name}", (*_provider(row, facts), *_inventories(row, facts)))
            for row in providers
        ),
        Section("Who holds its resources", tuple(_who_holds_of(nodes, providers, facts))),
    ]
    return make_story(Subject("host", name), name, about, sections)


def _who_holds_of(
    nodes: Collection[ComputeNode], providers: Collection[Provider], facts: Facts
) -> Iterator[str]:
    """Who holds resources of a host, whose providers its compute nodes name."""
    gap = facts.coverage.gap
    if gap and not (nodes or providers):
        yield f"It is not known which providers are its, because {in_words(gap)}."
    else:
        yield from _who_holds(_holders([row.uuid for row in providers], facts), facts)


def _provider(provider: Provider, facts: Facts) -> Iterator[str]:
    names = facts.provider_names
    yield f"{provider.name} is provider {provider.uuid}, generation {provider.generation}."
    others = [row.name for row in facts.trees.get(provider.root, ()) if row != provider]
    if provider.root != provider.uuid:
        yield f"It is in the tree of {names.get(provider.root, provider.root)}."
    elif others:
        yield f"Its tree also has {', '.join(sorted(others))}."
    if provider.sharing:
        roots = sorted(names.get(root, root) for root in provider.shares_with)
        yield f"It shares its resources with {', '.join(roots) or 'no host'}."
    namesakes = [row for row in facts.providers_by_name[provider.name] if row != provider]
    for row in namesakes:
        yield f"There is another provider of this name, {row.uuid}."


def _inventories(provider: Provider, facts: Facts) -> Iterator[str]:
    used: Counter[str] = Counter()
    for held in facts.consumers.values():
        used.update(held.get(provider.uuid, {}))
    for name, row in sorted(provider.inventories.items()):
        over = ", which is more than it has" if used[name] > row.capacity else ""
        yield (
            f"{name}: {row.total} in all, {row.reserved} reserved, ratio {row.allocation_ratio:g}: "
            f"a capacity of {row.capacity}, of which {used[name]} is held{over}."
        )
        if row.min_unit > 1 or row.step_size > 1 or row.max_unit < row.total:
            yield (
                f"{name}: a consumer takes {row.min_unit} to {row.max_unit} of it, in steps of "
                f"{row.step_size}."
            )
    for name in sorted(used.keys() - provider.inventories.keys()):
        yield f"{name}: {used[name]} is held, and there is no inventory of it."
    if not provider.inventories:
        yield "It has no inventory."


def _holders(providers: Iterable[str], facts: Facts) -> tuple[str, ...]:
    wanted = frozenset(providers)
    return tuple(
        sorted(uuid for uuid, held in facts.consumers.items() if not wanted.isdisjoint(held))
    )


def _who_holds(holders: Iterable[str], facts: Facts) -> Iterator[str]:
    moves = {row.uuid for row in facts.migrations}
    kinds = Counter(_kind(uuid, moves, facts) for uuid in holders)
    for kind, number in sorted(kinds.items()):
        yield f"{counted(number, 'consumer')}: {kind}."
    if not kinds:
        yield "No consumer holds its resources."


def _kind(uuid: str, moves: set[str], facts: Facts) -> str:
    if uuid in facts.alive:
        return "instances that are alive"
    if uuid in facts.deleted:
        return "instances that are deleted"
    return "migrations" if uuid in moves else "not known to any cell that answered"


def _nodes(nodes: Iterable[ComputeNode], facts: Facts) -> Iterator[str]:
    found = False
    for node in nodes:
        found = True
        cell = facts.cells[node.cell]
        yield f"Its root is compute node {node.node} of host {node.host} in {cell}."
        yield from _service(facts.service_of(node.cell, node.host), facts)
    if not found:
        yield "No cell that answered has a compute node with the uuid of its root."


def _aggregates(host: str, facts: Facts) -> Iterator[str]:
    for aggregate in facts.nova_aggregates_of(host):
        words = ", ".join(f"{key}={value}" for key, value in aggregate.metadata.items())
        yield f"It is in host aggregate {aggregate.name}" + (f" ({words})." if words else ".")


def _host(name: str, nodes: Iterable[ComputeNode], facts: Facts) -> Iterator[str]:
    for row in facts.host_mappings:
        if row.host == name:
            yield f"Its host mapping names {facts.cells.get(row.cell, row.cell)}."
    yield from _aggregates(name, facts)
    for service in facts.deleted_services:
        if service.host == name:
            cell = facts.cells.get(service.cell, service.cell)
            yield f"{cell} has a deleted compute service of it."
    for node in nodes:
        cell = facts.cells[node.cell]
        yield f"{cell} has its compute node {node.node}, with uuid {node.uuid}."
        provider = provider_of(node, facts)
        if isinstance(provider, Undetermined):
            yield f"Its provider is not known: {in_words(provider.reason)}."
        yield from _service(facts.service_of(node.cell, node.host), facts)
        on_it = (r for r in facts.alive.values() if (r.cell, r.host) == (node.cell, name))
        states = Counter(row.vm_state or "no state" for row in on_it)
        words = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        yield f"{cell} has {counted(sum(states.values()), 'instance')} on it" + (
            f": {words}." if words else "."
        )


def _service(service: ComputeService | None, facts: Facts) -> Iterator[str]:
    if service is None:
        yield "It has no compute service."
        return
    state = "up" if service.is_up(facts.taken_at) else "down"
    disabled = f", disabled ({service.disabled_reason})" if service.disabled else ""
    forced = ", forced down" if service.forced_down else ""
    yield (
        f"Its compute service is {state}{forced}{disabled}, and reported last"
        f"{at(service.last_seen) or ' at a time that is not known'}."
    )
