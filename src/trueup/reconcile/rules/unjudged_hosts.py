# SPDX-License-Identifier: Apache-2.0
"""Unjudged hosts: hosts whose provider is not known, or that may be up or down. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator

from trueup.reconcile.facts import Facts, as_compared, grouped
from trueup.reconcile.reasons import because
from trueup.reconcile.rules.bare_metal import is_bare_metal_provider
from trueup.reconcile.rules.machines import other_names
from trueup.reconcile.rules.nodes import (
    Stranger,
    judged_nodes,
    judged_roots,
    service_of,
    without_node,
)
from trueup.reconcile.rules.residence import Undetermined, provider_of
from trueup.reconcile.verdicts import LeftAlone, Subject, Unchecked


def unjudged_hosts(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Hosts whose instances cannot be judged.

    A host without instances is left out if another verdict is about it.
    """
    instances = Counter((row.cell, row.host, row.node) for row in facts.alive.values())
    for node in sorted(
        facts.compute_nodes, key=lambda row: (facts.cells[row.cell], row.host, row.node)
    ):
        if facts.hosts_in_scope is not None and node.host not in facts.hosts_in_scope:
            continue
        if other_names(node.host, facts):
            continue
        provider = provider_of(node, facts)
        if isinstance(provider, Undetermined):
            count = instances[node.cell, node.host, node.node]
            if not count and not {node.uuid, node.host}.isdisjoint(covered):
                continue
            yield Unchecked(
                Subject("host", node.host),
                facts.cells[node.cell],
                because("host-unjudged", provider.reason, instances=count),
            )


def without_service(facts: Facts) -> Iterator[Unchecked]:
    """Hosts with a compute node and without a compute service, as after its row was deleted."""
    nodes = [node for node in judged_nodes(facts) if service_of(node, facts) is None]
    for (cell, host), rows in grouped(((node.cell, node.host), node) for node in nodes).items():
        yield Unchecked(
            Subject("host", host),
            ", ".join(row.node for row in rows),
            because("service-missing", cell=facts.cells[cell]),
        )


def _hosts_of_services(facts: Facts) -> dict[str, str]:
    return {as_compared(row.host): row.host for row in facts.services if row.host}


def providers_of_nobody(facts: Facts) -> Iterator[Unchecked | LeftAlone]:
    """Root providers whose compute node no cell knows, alive or deleted.

    SAFETY: a missing row proves nothing, because archived rows are purged in the end. While a cell
    is silent, all its hosts would look like this.
    """
    for root in judged_roots(facts) if facts.coverage.complete else ():
        fate = without_node(root, facts)
        subject = Subject("provider", root.uuid)
        served = facts.once(_hosts_of_services).get(as_compared(root.name))
        if isinstance(fate, Stranger) and served:
            # SAFETY: its deletion would take it from a host that may run guests.
            yield Unchecked(subject, root.name, because("provider-of-known-service", host=served))
        elif isinstance(fate, Stranger) and is_bare_metal_provider(root, facts) and fate.of_nova:
            yield Unchecked(subject, root.name, because("metal-of-nobody", node=root.uuid))
        elif isinstance(fate, Stranger) and fate.of_nova:
            held = any(facts.consumers_of.get(row.uuid) for row in facts.trees[root.uuid])
            reason = because(
                "held-of-gone-host" if held else "provider-of-gone-host", provider=root.uuid
            )
            yield Unchecked(subject, root.name, reason)
        elif isinstance(fate, Stranger):
            yield LeftAlone(subject, root.name, because("provider-of-nobody"))
