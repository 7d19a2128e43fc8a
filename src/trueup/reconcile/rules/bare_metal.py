# SPDX-License-Identifier: Apache-2.0
"""Bare metal: which providers and instances are Ironic's, also without a nova-compute. Pure.

While a node moves to another nova-compute, or after its compute node was deleted, no living compute
node shows that it is bare metal. The deleted compute node does, or the provider: it has one unit of
one custom class.
"""

from trueup.reconcile.facts import ComputeNode, Facts, Instance, Provider, grouped
from trueup.reconcile.verdicts import AuditOptions

IRONIC = "ironic"
_PLAIN = ("VCPU", "MEMORY_MB", "DISK_GB")


def is_bare_metal_provider(provider: Provider, facts: Facts) -> bool:
    """Whether a provider is that of a bare metal node, alive or not."""
    if nodes := facts.nodes_by_uuid.get(provider.uuid):
        return any(node.hypervisor == IRONIC for node in nodes)
    if former := facts.deleted_nodes_by_uuid.get(provider.uuid):
        return any(node.hypervisor == IRONIC for node in former)
    if provider.parent is not None or provider.sharing or len(provider.inventories) != 1:
        return False
    [(name, stock)] = provider.inventories.items()
    return name.startswith("CUSTOM_") and stock.total == 1


def reserved_in_use(uuid: str, resource_class: str, facts: Facts) -> str | None:
    """The nova-compute that has reserved all of a bare metal node, as for any in use; or None."""
    metal = [node for node in facts.nodes_by_uuid.get(uuid, ()) if node.hypervisor == IRONIC]
    provider = facts.providers.get(uuid)
    stock = provider.inventories.get(resource_class) if provider else None
    if not metal or stock is None or stock.reserved < stock.total:
        return None
    return metal[0].host


def is_bare_metal(instance: Instance, facts: Facts) -> bool:
    """Whether an instance is on a bare metal node, by its node, what it holds, or its flavor."""
    nodes = facts.once(_nodes_by_name).get((instance.cell, instance.node or ""), ())
    if nodes:
        return any(node.hypervisor == IRONIC for node in nodes)
    held = [uuid for uuid in facts.consumers.get(instance.uuid, {}) if uuid in facts.providers]
    if any(is_bare_metal_provider(facts.providers[uuid], facts) for uuid in held):
        return True
    specs = instance.flavor.extra_specs if instance.flavor else {}
    return all(specs.get(f"resources:{name}") == "0" for name in _PLAIN)


def node_moved(place: tuple[str, str, str], facts: Facts) -> str | None:
    """The advice for this cell, host and node, if it is a bare metal node; or None."""
    cell, _, node = place
    former = facts.once(_nodes_by_name).get((cell, node), ())
    provider = facts.providers.get(node)
    if any(row.hypervisor == IRONIC for row in former) or (
        not former and provider and is_bare_metal_provider(provider, facts)
    ):
        advice = _handover_advice(place, facts)
        return f"{advice}; if Ironic has the node no more, delete the instance"
    return None


def nodes_moved(instance: Instance, facts: Facts) -> str:
    """The advice for an instance on a bare metal node that has to leave its nova-compute."""
    return _handover_advice((instance.cell, instance.host or "", instance.node or ""), facts)


def _handover_advice(place: tuple[str, str, str], facts: Facts) -> str:
    """It is not evacuated: its node goes to another nova-compute, and nothing is rebuilt."""
    cell, host, node = place
    target = peer_of(cell, host, facts) or "HOST"
    return (
        "it is bare metal, which is not evacuated: its node goes to another nova-compute, with "
        f"`nova-manage db ironic_compute_node_move --ironic-node-uuid {node} "
        f"--destination-host {target}` (since 2023.2, with {host} forced down); an older "
        "Nova gives the node to another nova-compute by itself"
    )


def peer_of(cell: str, host: str, facts: Facts) -> str | None:
    """Another nova-compute of the cell that has nodes of Ironic, and is up; or None."""
    up = facts.once(_hosts_up).get(cell, ())
    return min((name for name in up if name != host), default=None)


def _hosts_up(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The nova-computes of each cell that have nodes of Ironic, and are up."""
    metal = (row for row in facts.compute_nodes if row.hypervisor == IRONIC)
    up = {(row.cell, row.host) for row in metal if _is_up(row, facts)}
    return grouped(sorted(up))


def newly_down(node: ComputeNode, facts: Facts, options: AuditOptions) -> bool:
    """Whether others may still be taking over the nodes of this nova-compute.

    They take what the hash ring gives them in their next periodic task. What they have not taken
    then they never take, as a node on which Ironic has an instance (Nova since 2023.2).
    """
    service = facts.service_of(node.cell, node.host)
    if service is None or service.last_seen is None or service.is_up(facts.taken_at):
        return False
    return (facts.taken_at - service.last_seen).total_seconds() < options.grace_seconds


def _is_up(node: ComputeNode, facts: Facts) -> bool:
    service = facts.service_of(node.cell, node.host)
    return service is not None and service.is_up(facts.taken_at)


def _nodes_by_name(facts: Facts) -> dict[tuple[str, str], tuple[ComputeNode, ...]]:
    """The nodes of each cell and name, deleted ones too."""
    every = (*facts.compute_nodes, *facts.deleted_compute_nodes)
    return grouped(((row.cell, row.node), row) for row in every)
