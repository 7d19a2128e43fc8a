# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler asks Placement for the same, of the same request, settings and aggregates."""

import json
import os
import random
import uuid
from dataclasses import replace
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl

import pytest
from nova import exception, objects
from nova.conf import CONF
from nova.scheduler import request_filter, utils

from tests.differential.test_scheduler_filters import UUIDS, some
from trueup.reconcile.facts import ComputeService, HostAggregate, SchedulerHost, SchedulerOptions
from trueup.reconcile.scheduling import Refused, query_of
from trueup.reconcile.sources.neutron import parse_port
from trueup.reconcile.sources.nova.scheduling import request_of

CASES = int(os.environ.get("TRUEUP_EXAMPLES") or 500)
SPECS = {
    "hw:cpu_policy": ("dedicated", "shared"),
    "resources:CUSTOM_GOLD": ("1",),
    "trait:CUSTOM_A": ("required", "forbidden"),
    "trait1:CUSTOM_B": ("required",),
    "resources1:VGPU": ("1",),
    "group_policy": ("none",),
    "accel:device_profile": ("fpga",),
    "hw:virtio_packed_ring": ("true",),
    "hw:ephemeral_encryption": ("true", "no"),
    "hw:ephemeral_encryption_format": ("luks",),
    "hw:sound_model": ("virtio", "ich6"),
    "hw:tpm_version": ("2.0",),
    "hw:tpm_secret_security": ("host",),
}
IMAGE = {
    "hw_architecture": ("x86_64", "aarch64"),
    "hw_disk_bus": ("scsi", "virtio"),
    "hw_vif_model": ("e1000e", "virtio"),
    "hw_virtio_packed_ring": ("true",),
    "trait:CUSTOM_A": ("required",),
}
METADATA = {
    "trait:CUSTOM_A": ("required", "yes"),
    "trait:CUSTOM_C": ("required",),
    "filter_tenant_id": ("p1", "p2"),
    "owner": ("p1",),
    "availability_zone": ("az1", "az2"),
}
SWITCHES = (
    "enable_isolated_aggregate_filtering",
    "limit_tenants_to_placement_aggregate",
    "placement_aggregate_required_for_tenants",
    "query_placement_for_image_type_support",
    "image_metadata_prefilter",
)
SETTINGS = dict.fromkeys(SWITCHES, (True, False))


AMOUNTS = ("NET_BW_EGR_KILOBIT_PER_SEC", "NET_PACKET_RATE_KILOPACKET_PER_SEC")


@pytest.fixture(scope="module", autouse=True)
def _nova() -> None:
    objects.register_all()


class Aggregates:
    """What Nova would read of its database: those aggregates with metadata, and that metadata."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = [(UUIDS[at], row) for at, row in enumerate(rows)]

    def _found(self, matches: Any) -> list[Any]:
        pairs = (
            (uuid, {key: value for key, value in row.items() if matches(key, value)})
            for uuid, row in self.rows
        )
        return [objects.Aggregate(uuid=uuid, metadata=part) for uuid, part in pairs if part]

    def get_by_metadata(self, _: Any, key: str | None = None, value: str | None = None) -> Any:
        return self._found(lambda k, v: key in (None, k) and value in (None, v))

    def get_non_matching_by_metadata_keys(
        self, _: Any, ignored: list[str], prefix: str, value: str
    ) -> Any:
        return self._found(lambda k, v: v == value and k.startswith(prefix) and k not in ignored)


def request_spec(chance: random.Random) -> Any:
    size = {"vcpus": 2, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
    specs = some(SPECS, chance, 0.2)
    flavor = objects.Flavor(id=1, flavorid="1", name="a", extra_specs=specs, **size)
    properties = objects.ImageMetaProps.from_dict(some(IMAGE, chance, 0.25))
    return objects.RequestSpec(
        instance_uuid=UUIDS[3],
        project_id=chance.choice(("p1", "p3")),
        flavor=flavor,
        image=objects.ImageMeta(id=UUIDS[0], disk_format="qcow2", properties=properties),
        is_bfv=chance.random() < 0.3,
        scheduler_hints=some({"group": ([UUIDS[0]],), "other": (["x"],)}, chance, 0.3),
        instance_group=None,
        numa_topology=None,
        pci_requests=objects.InstancePCIRequests(requests=[]),
        availability_zone=chance.choice((None, "az1", "az9")),
        ignore_hosts=None,
        force_hosts=chance.choice((None, None, ["h1"], ["h7"])),
        force_nodes=None,
        requested_destination=None,
        requested_resources=[],
        requested_networks=objects.NetworkRequestList(objects=[]),
        request_level_params=objects.RequestLevelParams(),
    )


def some_ports(chance: random.Random) -> list[dict[str, Any]]:
    """Documents of ports of Neutron, in its newer format."""
    found = []
    for at in range(chance.choice((0, 0, 1, 2))):
        groups = [
            {
                "id": str(uuid.UUID(int=chance.getrandbits(128))),
                "required": chance.choice((["CUSTOM_PHYSNET_A", "CUSTOM_VNIC_TYPE_NORMAL"], [])),
                "resources": {name: chance.randrange(1, 9000)},
            }
            for name in chance.sample(AMOUNTS, chance.randrange(1, 3))
        ]
        wanted: dict[str, Any] = {"request_groups": groups}
        if len(groups) > 1:
            wanted["same_subtree"] = [group["id"] for group in groups]
        port = {"id": UUIDS[at], "device_id": UUIDS[3], "device_owner": "compute:a"}
        found.append(port | {"resource_request": wanted})
    return found


def asked_by_nova(spec: Any, aggregates: Aggregates, version: int) -> dict[str, Any] | None:
    """The parameters of its query, and whether it is limited; None: it refuses."""
    hosts = mock.Mock()
    node = mock.Mock(host="h1", hypervisor_hostname="h1", uuid=UUIDS[4])
    hosts.get_compute_nodes_by_host_or_node = lambda _, host, *__, **___: (
        [node] if host == "h1" else []
    )
    with (
        mock.patch.object(objects.aggregate, "AggregateList", aggregates),
        mock.patch.object(objects, "AggregateList", aggregates),
        mock.patch.object(objects.service, "get_minimum_version_all_cells", return_value=version),
        mock.patch.object(request_filter.neutron, "API"),
    ):
        try:
            request_filter.process_reqspec(None, spec)
            resources = utils.resources_from_request_spec(None, spec, hosts)
        except (exception.NovaException, ValueError):
            return None
    return parameters(resources.to_querystring()) | {"limited": resources._limit is not None}


def parameters(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in parse_qsl(text):
        if key != "limit":
            before, colon, after = value.rpartition("in:")
            words = frozenset(after.split(","))
            found.setdefault(key, set()).add((before + colon, words))
    return found


def test_the_query_is_novas():
    chance = random.Random(None if "TRUEUP_EXAMPLES" in os.environ else 34)
    refused = 0
    for number in range(CASES):
        settings = some(SETTINGS, chance, 0.6)
        metadata = [some(METADATA, chance, 0.3) for _ in range(chance.randrange(4))]
        version = chance.choice((70, 73))
        spec = request_spec(chance)
        if version < 73:
            # A scheduler whose newest nova-compute is older does not know it.
            spec.flavor.extra_specs.pop("hw:tpm_version", None)
        text = json.loads(json.dumps(spec.obj_to_primitive()))["nova_object.data"]
        ports = some_ports(chance)
        # As nova.network.neutron.API.get_requested_resource_for_instance does.
        for wanted in (port["resource_request"] for port in ports):
            groups = objects.RequestGroup.from_extended_port_request(None, wanted)
            spec.requested_resources.extend(groups)
            level = objects.RequestLevelParams.from_port_request(wanted)
            spec.request_level_params.extend_with(level)
        for key, value in settings.items():
            CONF.set_override(key, value, "scheduler")
        try:
            expected = asked_by_nova(spec, Aggregates(metadata), version)
        finally:
            for key in settings:
                CONF.clear_override(key, "scheduler")
        service = ComputeService("cell", "h1", False, None, version=version)
        host = SchedulerHost(UUIDS[4], "cell", "h1", "h1", service=service)
        aggregates = [HostAggregate(UUIDS[at], "", (), row) for at, row in enumerate(metadata)]
        try:
            request = replace(
                request_of(UUIDS[3], text), ports=tuple(parse_port(port) for port in ports)
            )
            query = query_of(request, SchedulerOptions(**settings), aggregates, [host])
            found = parameters(query.text) | {"limited": query.limited}
        except Refused:
            found, refused = None, refused + 1
        assert found == expected, (number, text["flavor"], metadata, settings)
    assert 0 < refused < CASES / 2, "most requests are asked about"
