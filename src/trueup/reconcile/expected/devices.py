# SPDX-License-Identifier: Apache-2.0
"""PCI devices: what a PCI alias requests, on hosts whose devices are in Placement.

Nova makes a provider for each device or physical function, named after the root provider and the
address. A port's device is not in Placement.
"""

from collections.abc import Iterator
from itertools import chain

from trueup.model.names import custom_resource_class, is_resource_class
from trueup.reconcile.expected.host_providers import HostProviders, on_one_of
from trueup.reconcile.expected.parts import ExpectedPart, Share, Unknown
from trueup.reconcile.facts import Facts, Instance, PciDevice, PciRequest

# Kinds of devices without a provider of their own: they use that of their physical function.
_VIRTUAL = ("type-VF", "vdpa")
# The shares of an allocation in which devices are.
_SHARES = frozenset({Share.DEVICES})


def device_parts(instance: Instance, host: HostProviders, facts: Facts) -> Iterator[ExpectedPart]:
    """One part for each device that the instance's PCI aliases request."""
    if instance.pci_requests is None:
        yield Unknown("its PCI requests could not be read", _SHARES)
        return
    if not instance.pci_requests or not (by_address := _providers_by_address(host)):
        return
    devices = [row for row in devices_on(host.root, facts) if row.instance == instance.uuid]
    for request in instance.pci_requests:
        if request.requester is None:
            mine = [row for row in devices if row.request_id == request.request_id]
            yield from _of_request(request, mine, by_address, host)


def devices_on(root: str, facts: Facts) -> tuple[PciDevice, ...]:
    """The PCI devices of the host with this root provider, assigned or not."""
    nodes = facts.nodes_by_uuid.get(root, ())
    rows = (facts.pci_by_node.get((node.cell, node.number), ()) for node in nodes)
    return tuple(chain.from_iterable(rows))


def _of_request(
    request: PciRequest, devices: list[PciDevice], by_address: dict[str, str], host: HostProviders
) -> Iterator[ExpectedPart]:
    source = f"PCI alias {request.alias}"
    name = _resource_class(request)
    if name is None:
        yield Unknown(f"{source} does not name the resource class of its devices", _SHARES)
        return
    amounts = {name: 1}
    inside = {row.uuid for row in host.tree}
    for device in devices:
        noted = device.provider if device.provider in inside else None
        provider = noted or by_address.get(_address(device))
        yield on_one_of(source, amounts, (provider,) if provider else ())
    for _ in range(request.count - len(devices)):
        yield on_one_of(source, amounts, host.having(name))


def _resource_class(request: PciRequest) -> str | None:
    """PARITY: the alias's class as a custom class, or a class made of vendor and product id."""
    if len(request.specs) != 1:
        return None
    [spec] = request.specs
    if wanted := spec.get("resource_class"):
        upper = wanted.upper()
        return upper if is_resource_class(upper) else custom_resource_class(upper)
    if spec.get("vendor_id") and spec.get("product_id"):
        return f"CUSTOM_PCI_{spec['vendor_id']}_{spec['product_id']}".upper()
    return None


def _providers_by_address(host: HostProviders) -> dict[str, str]:
    names = {row.uuid: row.name for row in host.tree}
    prefix = f"{names.get(host.root, '')}_"
    return {
        row.name.removeprefix(prefix).upper(): row.uuid
        for row in host.tree
        if row.uuid != host.root and row.name.startswith(prefix)
    }


def _address(device: PciDevice) -> str:
    virtual = device.kind in _VIRTUAL
    return ((device.parent_address if virtual else device.address) or "").upper()
