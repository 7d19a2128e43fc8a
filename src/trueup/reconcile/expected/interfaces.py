# SPDX-License-Identifier: Apache-2.0
"""Interfaces: the physical function of a host that has the device of an SR-IOV port. Pure.

Launchpad 1819923: `nova-manage placement heal_allocations` ignores this, and gives up.
"""

from collections.abc import Iterable

from trueup.reconcile.expected.devices import devices_on
from trueup.reconcile.expected.host_providers import HostProviders
from trueup.reconcile.facts import Facts, Instance, PciDevice, Port

# The kinds of ports whose bandwidth is that of a physical function.
_WITH_DEVICE = frozenset(
    {"direct", "direct-physical", "macvtap", "vdpa", "accelerator-direct", "remote-managed"}
)
# Neutron's agents name their providers `host:agent:interface`, and Nova parses them so.
_PIECES = 3


def interface_of_provider(name: str) -> str | None:
    """The interface in the name of a provider that a Neutron agent made."""
    pieces = name.split(":")
    return pieces[2] if len(pieces) == _PIECES else None


def interfaces_of(
    port: Port, instance: Instance, host: HostProviders, facts: Facts
) -> frozenset[str]:
    """The interfaces of the physical functions that may have the port's device; empty if unknown.

    The sources, in this order: the device that Nova assigned to the port's PCI request, the address
    in its binding profile, the devices of its domain, the PCI request itself. If the hypervisor
    says that the domain has no such device, the interface is unknown.
    """
    if port.vnic_type not in _WITH_DEVICE:
        return frozenset()
    requests = [request for request in instance.pci_requests or () if request.requester == port.id]
    wanted = {request.request_id for request in requests}
    rows = devices_on(host.root, facts)
    found = [row for row in rows if row.instance == instance.uuid and row.request_id in wanted]
    found = found or [row for row in rows if row.address.lower() == port.pci_address]
    domains = [
        domain for domain in facts.domains_of.get(instance.uuid, ()) if domain.host == instance.host
    ]
    if domains:
        inside = {address for domain in domains for address in domain.host_devices}
        if not found:
            found = [row for row in rows if row.address.lower() in inside]
        elif not inside.issuperset(row.address.lower() for row in found):
            return frozenset()
    specs = (spec for request in requests for spec in request.specs)
    return _named(found) or frozenset(name for spec in specs if (name := spec.get("parent_ifname")))


def _named(devices: Iterable[PciDevice]) -> frozenset[str]:
    return frozenset(row.parent_interface for row in devices if row.parent_interface)
