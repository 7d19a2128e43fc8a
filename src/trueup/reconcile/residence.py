# SPDX-License-Identifier: Apache-2.0
"""Residence: on which provider an instance should hold its allocation, or why that is not said.

Pure rules over facts, shared by the defects so that all of them leave the same instances alone.
"""

from dataclasses import dataclass

from trueup.reconcile.facts import ComputeNode, Facts, Instance, Provider

# Besides `task_state`: states in which Nova itself is, or soon will be, writing the allocation.
_UNSETTLED_STATES = {
    "building": "it is being built",
    "resized": "its resize waits for confirmation and holds two claims rightly",
    "deleted": "it is being deleted",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """The instance is settled, on the compute node that this provider stands for."""

    provider: Provider


@dataclass(frozen=True, slots=True)
class InMotion:
    """Something is under way with the instance, so it is left alone (invariant 7)."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoHost:
    """The instance is on no host, as after shelving."""


@dataclass(frozen=True, slots=True)
class Undetermined:
    """The facts do not determine the provider, for this reason."""

    reason: str


Residence = Placed | InMotion | NoHost | Undetermined


def residence(instance: Instance, facts: Facts) -> Residence:
    """Where the instance resides."""
    if reason := _motion(instance, facts):
        return InMotion(reason)
    if instance.host is None or instance.node is None:
        return NoHost()
    nodes = facts.nodes_by_place.get((instance.cell, instance.host, instance.node), ())
    if len(nodes) != 1:
        found = "no compute node" if not nodes else f"{len(nodes)} compute nodes"
        cell = facts.cells[instance.cell]
        return Undetermined(f"{cell} has {found} for host {instance.host}, node {instance.node}")
    provider = provider_of(nodes[0], facts)
    return provider if isinstance(provider, Undetermined) else Placed(provider)


def provider_of(node: ComputeNode, facts: Facts) -> Provider | Undetermined:
    """The provider of a compute node: the one with its uuid, if no other node has that uuid."""
    if len(facts.nodes_by_uuid[node.uuid]) > 1:
        places = ", ".join(f"{row.host}/{row.node}" for row in facts.nodes_by_uuid[node.uuid])
        return Undetermined(f"compute nodes {places} have one uuid, {node.uuid}")
    if provider := facts.providers.get(node.uuid):
        return provider
    if namesakes := facts.providers_by_name.get(node.node):
        return Undetermined(
            f"its compute node has uuid {node.uuid}, "
            f"but the provider of that name has uuid {namesakes[0].uuid}"
        )
    return Undetermined(f"Placement has no provider with uuid {node.uuid} or name {node.node}")


def source_is_up(root: str, facts: Facts) -> bool:
    """Whether the compute service of the host with this root provider reports."""
    nodes = facts.nodes_by_uuid.get(root, ())
    services = (facts.services_by_host.get((node.cell, node.host)) for node in nodes)
    return any(service is not None and service.is_up(facts.taken_at) for service in services)


def _motion(instance: Instance, facts: Facts) -> str | None:
    if instance.hidden:
        return "it is hidden: its sibling in another cell is on the move"
    if instance.task_state is not None:
        return f"its task state is {instance.task_state}"
    if migration := facts.moving.get(instance.uuid):
        return f"its {migration.kind} is {migration.status}"
    if instance.uuid in facts.builds:
        return "it has a build request"
    if instance.updated_at is not None and instance.updated_at >= facts.taken_at:
        return "it changed while the facts were read"
    return _UNSETTLED_STATES.get(instance.vm_state or "building")
