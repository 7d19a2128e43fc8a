# SPDX-License-Identifier: Apache-2.0
"""The details of an instance beyond its flavor, in sentences: disks, NUMA nodes, devices. Pure."""

from collections.abc import Iterator

from trueup.reconcile.facts import (
    BlockDevice,
    Facts,
    Instance,
    NumaCell,
    NumaTopology,
    PciDevice,
    PciRequest,
)
from trueup.reconcile.wording import counted

# nova/objects/fields.py, InstancePowerState.
_POWER_STATES = {
    0: "without a state",
    1: "running",
    3: "paused",
    4: "shut down",
    6: "crashed",
    7: "suspended",
}


def given(instance: Instance, facts: Facts) -> Iterator[str]:
    """The details of a living instance in Nova's databases, as far as they were read."""
    if instance.power_state is not None:
        state = _POWER_STATES.get(instance.power_state, f"in state {instance.power_state}")
        yield f"Nova saw its guest {state} when it looked last."
    for device in facts.block_devices:
        if device.instance == instance.uuid:
            yield _disk(device)
    if instance.numa_topology is not None:
        yield from _numa(instance.numa_topology)
    for request in instance.pci_requests or ():
        yield _request(request)
    for row in facts.pci_devices:
        if row.instance == instance.uuid:
            yield _device(row)
    for assigned in instance.assigned_resources:
        provider = facts.provider_names.get(assigned.provider, assigned.provider)
        yield f"It was given {assigned.resource_class} {assigned.identifier} of {provider}."
    if facts.has("request specs") and instance.uuid not in facts.request_specs:
        yield "Nova's API database has no request spec of it, which Nova needs to move it."


def _disk(device: BlockDevice) -> str:
    what = f"volume {device.volume}" if device.volume else f"{device.destination} disk"
    size = f" of {device.size_gb} GB" if device.size_gb is not None else ""
    guest_format = f", formatted as {device.guest_format}" if device.guest_format else ""
    root = "Its root disk" if device.boot_index == 0 else "A disk of it"
    return f"{root} is a {what}{size}, made from: {device.source}{guest_format}."


def _numa(topology: NumaTopology) -> Iterator[str]:
    if topology.cells is None:
        yield "Its NUMA topology could not be read."
    for cell in topology.cells or ():
        yield _numa_cell(cell)
    if topology.emulator_threads_policy:
        yield f"Its emulator threads have the policy {topology.emulator_threads_policy}."


def _numa_cell(cell: NumaCell) -> str:
    processors = ((cell.processors, "shared"), (cell.pinned, "dedicated"))
    words = [f"{kind} vCPUs {', '.join(map(str, ids))}" for ids, kind in processors if ids]
    words.append(f"{cell.memory_mb} MB of memory")
    if cell.cpu_policy:
        words.append(f"CPU policy {cell.cpu_policy}")
    if cell.thread_policy:
        words.append(f"thread policy {cell.thread_policy}")
    return f"Its NUMA node {cell.number} has {'; '.join(words)}."


def _request(request: PciRequest) -> str:
    of = f" of alias {request.alias}" if request.alias else f" for port {request.requester}"
    policy = f", with the NUMA policy {request.numa_policy}" if request.numa_policy else ""
    return f"It asks for {counted(request.count, 'PCI device')}{of}{policy}."


def _device(row: PciDevice) -> str:
    node = f", NUMA node {row.numa_node}" if row.numa_node is not None else ""
    return (
        f"PCI device {row.address} ({row.kind}, vendor {row.vendor}, product {row.product}{node}) "
        f"is {row.status} to it."
    )
