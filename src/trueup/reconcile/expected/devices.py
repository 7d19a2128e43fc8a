# SPDX-License-Identifier: Apache-2.0
"""PCI devices that a PCI alias requests, on hosts whose devices are in Placement.

Nova makes a provider for each device or physical function that it keeps in Placement. The devices
of ports are not in Placement.
"""

from collections.abc import Iterator
from itertools import chain

from trueup.model.names import custom_resource_class, is_resource_class
from trueup.reconcile.expected.host_providers import HostProviders, on_one_of
from trueup.reconcile.expected.parts import ExpectedPart, Known, Share, Unknown
from trueup.reconcile.facts import Facts, Instance, PciDevice, PciRequest, Provider, pci_address
from trueup.reconcile.reasons import Reason, because

# Kinds of devices without their own provider: they use that of their physical function.
_VIRTUAL = ("type-VF", "vdpa")
# The shares of an allocation that contain devices.
_SHARES = frozenset({Share.DEVICES})


def device_parts(instance: Instance, host: HostProviders, facts: Facts) -> Iterator[ExpectedPart]:
    """One part for each device that the instance's PCI aliases request."""
    if instance.pci_requests is None:
        yield Unknown(because("pci-requests-unreadable"), _SHARES)
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
    request: PciRequest,
    devices: list[PciDevice],
    by_address: dict[str, Provider],
    host: HostProviders,
) -> Iterator[ExpectedPart]:
    source = f"PCI alias {request.alias}"
    name = _resource_class(request)
    inside = {row.uuid: row for row in host.tree}
    for device in devices:
        provider = inside.get(device.provider or "") or by_address.get(_address(device))
        # Without a provider, the device is not in Placement.
        if provider is not None:
            yield _of_device(source, provider, name)
    for _ in range(request.count - len(devices)):
        if name:
            yield on_one_of(source, {name: 1}, host.having(name))
        else:
            yield Unknown(_unnamed(source), _SHARES)


def _of_device(source: str, provider: Provider, requested: str | None) -> Known | Unknown:
    """One unit of the provider's only class. PARITY: the alias may name another class, which
    nova-compute ignores unless the scheduler claims devices, too."""
    name = next(iter(provider.inventories)) if len(provider.inventories) == 1 else requested
    return Known(source, {name: 1}, provider.uuid) if name else Unknown(_unnamed(source), _SHARES)


def _unnamed(source: str) -> Reason:
    return because("pci-class-unknown", source=source)


def _resource_class(request: PciRequest) -> str | None:
    """PARITY: the alias's class as a custom class, or a class named by vendor and product id."""
    if len(request.specs) != 1:
        return None
    [spec] = request.specs
    if wanted := spec.get("resource_class"):
        upper = wanted.upper()
        return upper if is_resource_class(upper) else custom_resource_class(upper)
    if spec.get("vendor_id") and spec.get("product_id"):
        return f"CUSTOM_PCI_{spec['vendor_id']}_{spec['product_id']}".upper()
    return None


def _providers_by_address(host: HostProviders) -> dict[str, Provider]:
    root = next((row for row in host.tree if row.uuid == host.root), None)
    if root is None:
        return {}
    found = ((pci_address(row, root), row) for row in host.tree)
    return {address: row for address, row in found if address}


def _address(device: PciDevice) -> str:
    virtual = device.kind in _VIRTUAL
    return ((device.parent_address if virtual else device.address) or "").upper()
