# SPDX-License-Identifier: Apache-2.0
"""Random hosts with network cards and PCI devices, and what Nova's own code allocates on them.

Nova makes the request of flavor, ports and PCI aliases, names the providers of its devices, and
writes the binding profiles; Placement chooses among the candidates.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import UUID

from nova import context, objects
from nova.compute.pci_placement_translator import PlacementView
from nova.conf import CONF
from nova.network.neutron import API
from nova.scheduler.utils import ResourceRequest, fill_provider_mapping

from trueup.lab.placement_client import PlacementClient, PlacementRefused

Amounts = dict[str, dict[str, int]]
BANDWIDTH = ("NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC")
PACKETS = "NET_PACKET_RATE_KILOPACKET_PER_SEC"
NETWORKS = ("CUSTOM_PHYSNET_ONE", "CUSTOM_PHYSNET_TWO")
CLASSES = ("CUSTOM_GOLD", "gold card", "PGPU")
TRAITS = ("", "CUSTOM_FAST", "custom-slow")
SIZES = {"vcpus": 2, "memory_mb": 256, "root_gb": 4, "ephemeral_gb": 1, "swap": 0}


@dataclass(frozen=True)
class Row:
    """A provider that the host has."""

    uuid: str
    name: str
    parent: str | None
    totals: Mapping[str, int]
    traits: frozenset[str]


@dataclass
class Host:
    """The providers of a host, parents first; its devices, with the tags of their specs."""

    name: str
    rows: list[Row] = field(default_factory=list)
    devices: list[tuple[Any, dict[str, str]]] = field(default_factory=list)

    def named(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def add(self, rng: Random, name: str, parent: str, totals: Any, *traits: str) -> str:
        uuid = uuid_from(rng)
        above = self.named(parent).uuid if parent else None
        self.rows.append(Row(uuid, name, above, totals, frozenset(traits)))
        return uuid


@dataclass
class Server:
    """What its owner asked for, and what Nova made of that: None where it found no host.

    `ports` are Neutron's documents, `requests` those for devices; `given` says which device got
    which request.
    """

    ports: list[dict[str, Any]]
    requests: list[Any]
    allocations: Amounts | None = None
    given: dict[str, str] = field(default_factory=dict)


def uuid_from(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def host_of(rng: Random, name: str) -> Host:
    """A host with bridges, SR-IOV cards and PCI devices."""
    host = Host(name)
    host.add(rng, name, "", {"VCPU": 64, "MEMORY_MB": 9000, "DISK_GB": 900}, "OWNER_NOVA")
    packets = rng.random() < 0.5
    switch = f"{name}:Open vSwitch agent"
    host.add(rng, switch, name, {PACKETS: 9000} if packets else {}, "CUSTOM_VNIC_TYPE_NORMAL")
    for bridge in ("br-one", "br-two")[: rng.randint(0, 2)]:
        network = rng.choice(NETWORKS)
        totals = dict.fromkeys(BANDWIDTH, 9000)
        host.add(rng, f"{switch}:{bridge}", switch, totals, network, "CUSTOM_VNIC_TYPE_NORMAL")
    cards = f"{name}:NIC Switch agent"
    host.add(rng, cards, name, {})
    for card in ("ens1", "ens2")[: rng.randint(0, 2)]:
        network = rng.choice(NETWORKS)
        totals = dict.fromkeys(BANDWIDTH, rng.choice((100, 9000)))
        host.add(rng, f"{cards}:{card}", cards, totals, network, "CUSTOM_VNIC_TYPE_DIRECT")
    _add_devices(rng, host)
    return host


def _add_devices(rng: Random, host: Host) -> None:
    """Devices, and their providers as nova-compute makes them."""
    view = PlacementView(host.name, [])
    for number in range(rng.randint(0, 3)):
        tags = {"traits": rng.choice(TRAITS)}
        if rng.random() < 0.5:
            tags["resource_class"] = rng.choice(CLASSES)
        address = f"0000:8{number}:00.{{}}"
        product = rng.choice(("20b0", "15b3"))
        if rng.random() < 0.5:
            made = [_device(address.format(0), product, rng.choice(("type-PCI", "type-PF")))]
        else:
            kind = rng.choice(("type-VF", "vdpa"))
            parent = address.format(0)
            made = [_device(address.format(one), product, kind, parent) for one in (1, 2, 3)]
        for device in made:
            view._add_dev(device, tags)
            host.devices.append((device, tags))
    for name, row in view.rps.items():
        traits = (*(row.traits or ()), "OWNER_NOVA")
        uuid = host.add(rng, name, host.name, {row.resource_class: row.total}, *traits)
        for device in row.devs:
            device.extra_info["rp_uuid"] = uuid


def _device(address: str, product: str, kind: str, parent: str | None = None) -> Any:
    return objects.PciDevice(
        address=address, vendor_id="10de", product_id=product, dev_type=kind, parent_addr=parent,
        status="available", extra_info={}, instance_uuid=None,
    )  # fmt: skip


def server_of(rng: Random, host: Host) -> Server:
    """A server with up to three ports, in one of Neutron's formats, and up to two PCI aliases."""
    extended = rng.random() < 0.5
    ports = [_port(rng, host, extended) for _ in range(rng.randint(0, 3))]
    return Server(ports, [_alias(rng, host) for _ in range(rng.randint(0, 2))])


def _port(rng: Random, host: Host, extended: bool) -> dict[str, Any]:
    kind = rng.choice(("normal", "direct"))
    required = [rng.choice(NETWORKS), f"CUSTOM_VNIC_TYPE_{kind.upper()}"]
    amount = rng.choice((50, 100, 1000))
    resources = dict.fromkeys(BANDWIDTH[: rng.randint(1, 2)], amount)
    request: dict[str, Any] = {"resources": resources, "required": required}
    if extended:
        request = {"request_groups": [{"id": uuid_from(rng), **request}]}
        if kind == "normal" and rng.random() < 0.5:
            packets = {"resources": {PACKETS: 10}, "required": required[1:]}
            request["request_groups"].append({"id": uuid_from(rng), **packets})
            request["same_subtree"] = [one["id"] for one in request["request_groups"]]
    return {
        "id": uuid_from(rng),
        "device_owner": "compute:nova",
        "binding:vnic_type": kind,
        "binding:vif_type": "ovs",
        "binding:host_id": host.name,
        "binding:profile": {},
        "revision_number": 3,
        "resource_request": request,
    }


def _alias(rng: Random, host: Host) -> Any:
    """A request for devices; mostly for such as the host has."""
    spec = {"vendor_id": "10de", "product_id": "20b0"}
    if host.devices and rng.random() < 0.8:
        device, tags = rng.choice(host.devices)
        spec["product_id"] = device.product_id
        spec |= {key: value for key, value in tags.items() if value}
    return objects.InstancePCIRequest(
        count=rng.randint(1, 2), spec=[spec], alias_name="alias", request_id=uuid_from(rng)
    )


def put(client: PlacementClient, host: Host) -> None:
    """Let Placement have the providers of a host."""
    for name in sorted({name for row in host.rows for name in row.totals}):
        if name.startswith("CUSTOM_"):
            client.put(f"/resource_classes/{name}", {})
    vnic_types = ("CUSTOM_VNIC_TYPE_NORMAL", "CUSTOM_VNIC_TYPE_DIRECT")
    for name in {*NETWORKS, *vnic_types}.union(*(row.traits for row in host.rows)):
        if name.startswith("CUSTOM_"):
            client.put(f"/traits/{name}", {})
    for row in host.rows:
        above = {"parent_provider_uuid": row.parent} if row.parent else {}
        client.post("/resource_providers", {"uuid": row.uuid, "name": row.name, **above})
        url, generation = f"/resource_providers/{row.uuid}", 0
        stock = {name: {"total": total} for name, total in row.totals.items()}
        for part, content in (("inventories", stock), ("traits", sorted(row.traits))):
            body = {"resource_provider_generation": generation, part: content}
            generation = client.put(f"{url}/{part}", body)["resource_provider_generation"]


def schedule(rng: Random, client: PlacementClient, server: Server, host: Host) -> None:
    """As Nova's scheduler and nova-compute: allocate, write the profiles, give devices."""
    spec = _spec(server)
    request = ResourceRequest.from_request_spec(spec)
    # As resources_from_request_spec does it for more than one group with a suffix.
    request.group_policy = "none"
    query = f"{request.to_querystring()}&in_tree={host.rows[0].uuid}"
    try:
        candidates = client.get(f"/allocation_candidates?{query}")["allocation_requests"]
    except PlacementRefused:  # no host has a class or a trait of that name
        return
    if not candidates:
        return
    chosen = rng.choice(candidates)
    if not _given(chosen["mappings"], server, host):
        return
    server.allocations = {uuid: row["resources"] for uuid, row in chosen["allocations"].items()}
    fill_provider_mapping(spec, SimpleNamespace(allocation_request=json.dumps(chosen)))
    mapping = spec.get_request_group_mapping()
    for port in server.ports:
        extended = "request_groups" in port["resource_request"]
        with mock.patch.object(
            API, "has_extended_resource_request_extension", lambda *_, known=extended: known
        ):
            allocation = API()._get_binding_profile_allocation(None, port, None, mapping)
        port["binding:profile"] = {"allocation": allocation}


def _spec(server: Server) -> Any:
    spec = objects.RequestSpec(
        flavor=objects.Flavor(name="a-flavor", extra_specs={}, **SIZES),
        image=objects.ImageMeta(properties=objects.ImageMetaProps()),
        is_bfv=False,
        requested_resources=[],
        request_level_params=objects.RequestLevelParams(),
        pci_requests=objects.InstancePCIRequests(requests=server.requests),
    )
    admin = context.get_admin_context()
    for port in server.ports:
        asked = port["resource_request"]
        if "request_groups" in asked:
            groups = objects.RequestGroup.from_extended_port_request(admin, asked)
            level = objects.RequestLevelParams.from_port_request(asked)
            spec.request_level_params.extend_with(level)
        else:
            groups = [objects.RequestGroup.from_port_request(admin, port["id"], asked)]
        spec.requested_resources += groups
    CONF.set_override("pci_in_placement", True, group="filter_scheduler")
    spec.generate_request_groups_from_pci_requests()
    return spec


def _given(mappings: Mapping[str, Sequence[str]], server: Server, host: Host) -> bool:
    """Give each request its devices, of the provider that Placement chose; whether all were."""
    for request, provider in _asked(mappings, server):
        free = [
            device for device, _ in host.devices
            if device.extra_info["rp_uuid"] == provider and device.address not in server.given
        ]  # fmt: skip
        if not free:
            return False
        server.given[free[0].address] = request
    return True


def _asked(mappings: Mapping[str, Sequence[str]], server: Server) -> Iterator[tuple[str, str]]:
    for one in server.requests:
        for number in range(one.count):
            yield one.request_id, mappings[f"{one.request_id}-{number}"][0]
