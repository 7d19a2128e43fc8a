# SPDX-License-Identifier: Apache-2.0
"""Each of Nova's own filters, asked about the same host and request, decides as ours does.

Hosts are rows of `compute_nodes` and requests are texts of `request_specs`, as Nova writes them, so
the readers of both are compared as well.
"""

import json
import logging
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from nova import exception, objects
from nova.conf import CONF
from nova.objects import pci_device_pool
from nova.scheduler import filters as nova_filters
from nova.scheduler.host_manager import HostState
from nova.virt import hardware
from oslo_utils import timeutils

from trueup.reconcile.facts import (
    ComputeService,
    HostAggregate,
    ScheduleRequest,
    SchedulerHost,
    SchedulerOptions,
    ServerGroup,
)
from trueup.reconcile.scheduling.explain import fault_of
from trueup.reconcile.scheduling.filters import FILTERS, Open, filter_named
from trueup.reconcile.sources.nova.scheduling import host_of, request_of, with_hardware

# PERF: building Nova's objects takes 10 ms for each; `make conformance` tries thousands.
CASES = int(os.environ.get("TRUEUP_EXAMPLES") or 400)
# Nova 34 has no such filter any more.
GONE = {"AvailabilityZoneFilter"}
OF_HARDWARE = {"NUMATopologyFilter", "PciPassthroughFilter"}
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
UUIDS = [f"00000000-0000-4000-8000-{number:012}" for number in range(5)]
SPECS = {
    "gpu": ("true", "<in> tru", "s== true"),
    "aggregate_instance_extra_specs:ssd": ("true", "<or> true <or> maybe", "s!= true", "<or>"),
    "capabilities:cpu_info:vendor": ("Intel", "s== AMD", "<in> nte"),
    "capabilities:cpu_info:features": ("<all-in> aes avx", "<in> avx", "<all-in>"),
    "capabilities:hypervisor_version": (">= 6000000", "== 7002000", "!= 1", "="),
    "capabilities:free_ram_mb": (">= 1000", "= 2048", "<= 10"),
    "capabilities:stats:num_instances": ("<= 4", "s< 5"),
    "num_instances": ("== 2", "3"),
    "free_disk_mb": (">= 1024", "many"),
    "hw:maxphysaddr_bits": ("42", "50"),
    "disk_type": ("ssd", "s== hdd"),
}
IMAGE = {
    "hw_architecture": ("x86_64", "aarch64", "i686"),
    "img_hv_type": ("qemu", "kvm", "xen"),
    "hw_vm_mode": ("hvm", "xen"),
    "img_hv_requested_version": (">=6.0,<7.3", "==7.2", "!=7.2.0"),
    "os_type": ("windows", "linux"),
}
METADATA = {
    "gpu": ("true", "false, true"),
    "ssd": ("true", "false"),
    "disk_type": ("ssd", "hdd,ssd"),
    "instance_type": ("small", "small, big", "big"),
    "filter_tenant_id": ("p1", "p2, p3"),
    "filter_tenant_id2": ("p1",),
    "os_type": ("windows", "linux"),
    "max_instances_per_host": ("2", "60", "many"),
    "max_io_ops_per_host": ("1", "20"),
}
CELLS = {
    "hw:numa_nodes": ("1", "2", "2", "3"),
    "hw:cpu_policy": ("dedicated", "dedicated", "mixed", "shared"),
    "hw:cpu_dedicated_mask": ("0", "^0"),
    "hw:cpu_thread_policy": ("isolate", "require", "prefer"),
    "hw:emulator_threads_policy": ("isolate",),
    "hw:mem_page_size": ("small", "large", "any", "2048", "1GB"),
}
DEVICES = (
    {"vendor_id": "8086", "product_id": "154d", "dev_type": "type-VF"},
    {"vendor_id": "8086", "product_id": "154d"},
    {"vendor_id": "10DE", "resource_class": "CUSTOM_GPU"},
    {"physical_network": "public"},
    {"physical_network": None, "remote_managed": "True"},
    {"dev_type": "vdpa", "physical_network": "public"},
    {"product_id": "154d", "live_migratable": "true"},
)
TAGS = {
    "dev_type": ("type-VF", "type-PF", "type-PCI", "vdpa"),
    "physical_network": ("public", "private"),
    "remote_managed": ("true", "false"),
    "live_migratable": ("true", "false"),
    "rp_uuid": (UUIDS[0], UUIDS[1]),
}
CONFIGURED = {
    "pci_in_placement": (True, False),
    "isolated_hosts": ((), ("h1",), ("h2",)),
    "isolated_images": ((), (UUIDS[0],)),
    "restrict_isolated_hosts_to_isolated_images": (True, False),
    "aggregate_image_properties_isolation_namespace": ("", "os"),
    "aggregate_image_properties_isolation_separator": (".", "_"),
    "image_properties_default_architecture": ("", "x86_64"),
    "max_instances_per_host": (50, 2),
    "max_io_ops_per_host": (8, 1),
}


@pytest.fixture(scope="module", autouse=True)
def _nova() -> Iterator[None]:
    """Its clock stands still; PERF: and what it logs is not even made."""
    objects.register_all()
    timeutils.set_time_override(NOW)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    timeutils.clear_time_override()


def some(of: dict[str, tuple[Any, ...]], chance: random.Random, share: float) -> dict[str, Any]:
    return {key: chance.choice(values) for key, values in of.items() if chance.random() < share}


def host_cells(chance: random.Random) -> list[Any]:
    """The NUMA cells of a host; most are alike, and have room for two CPUs or more."""
    count, threads = chance.choice((1, 2, 2, 4)), chance.choice((1, 2, 2))
    found = []
    for number in range(count):
        cpus = range(number * 10, number * 10 + chance.choice((4, 4, 6)))
        shared, dedicated = {*cpus[:2]}, {*cpus[2:]}
        if chance.random() < 0.2:
            shared = dedicated = {*cpus}
        cell = objects.NUMACell(
            id=number,
            cpuset=shared,
            pcpuset=dedicated,
            memory=chance.choice((1024, 1024, 2048)),
            cpu_usage=chance.choice((0, 1)),
            memory_usage=chance.choice((0, 512)),
            pinned_cpus={*chance.sample(sorted(dedicated), chance.choice((0, 0, 1, 2)))},
            siblings=[{*cpus[at : at + threads]} for at in range(0, len(cpus), threads)],
            mempages=[
                objects.NUMAPagesTopology(size_kb=size, total=total, used=chance.choice((0, 1)))
                for size, total in chance.choice(
                    ((), ((4, 262144),), ((4, 262144), (2048, 64)), ((4, 9), (2048, 256)))
                )
            ],
            socket=chance.choice((0, 0, 1, None)),
        )
        if chance.random() < 0.1:
            near = chance.choice((set(), {"public"}))
            cell.network_metadata = objects.NetworkMetadata(physnets=near, tunneled=not near)
        found.append(cell)
    return found


def device_pools(chance: random.Random) -> list[Any]:
    """The free PCI devices of a host."""
    return [
        objects.PciDevicePool(
            vendor_id=chance.choice(("8086", "10de")),
            product_id=chance.choice(("154d", "1db5")),
            numa_node=chance.choice((0, 1, None)),
            count=chance.randrange(1, 4),
            tags=some(TAGS, chance, 0.3),
        )
        for _ in range(chance.randrange(4))
    ]


def device_requests(chance: random.Random) -> list[Any]:
    """Requests of a flavor's aliases and of ports."""
    return [
        objects.InstancePCIRequest(
            count=chance.choice((1, 1, 2)),
            alias_name=chance.choice((None, "card")),
            request_id=UUIDS[at],
            spec=chance.sample(DEVICES, chance.choice((1, 1, 2))),
            numa_policy=chance.choice((None, "required", "preferred", "socket")),
        )
        for at in range(chance.choice((0, 1, 1, 2)))
    ]


def node(chance: random.Random) -> Any:
    """A row of `compute_nodes`."""
    cpu = {
        "vendor": chance.choice(("Intel", "AMD")),
        "features": chance.sample(("aes", "avx", "sse"), 2),
        "maxphysaddr": {"mode": "emulate", "bits": 46},
    }
    known = [["x86_64", "qemu", "hvm"], ["i686", "kvm", "hvm"], ["aarch64", "xen", "xen"]]
    return SimpleNamespace(
        id=1,
        created_at=NOW,
        uuid=UUIDS[4],
        host="h1",
        hypervisor_hostname="h1",
        host_ip="192.0.2.7",
        hypervisor_type="QEMU",
        hypervisor_version=chance.choice((7002000, 6000003, 1000)),
        vcpus=16,
        memory_mb=4096,
        local_gb=100,
        vcpus_used=3,
        local_gb_used=7,
        free_ram_mb=chance.choice((2048, 5)),
        # Empty until nova-compute has reported once: Nova then looks at nothing of the row.
        free_disk_gb=chance.choice((*[93] * 9, None)),
        disk_available_least=chance.choice((None, 50, 99)),
        cpu_allocation_ratio=4.0,
        ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0,
        cpu_info=json.dumps(cpu),
        supported_instances=json.dumps(chance.sample(known, chance.randrange(3))),
        stats=json.dumps(
            {"num_instances": str(chance.randrange(4)), "io_workload": str(chance.randrange(3))}
        ),
        numa_topology=written(objects.NUMATopology(cells=host_cells(chance)), chance, 0.05),
        pci_stats=written(objects.PciDevicePoolList(objects=device_pools(chance)), chance, 0.05),
    )


def written(value: Any, chance: random.Random, absent: float) -> str | None:
    return None if chance.random() < absent else json.dumps(value.obj_to_primitive())


class Case:
    """One host and one request, as Nova has them and as we have them."""

    def __init__(self, chance: random.Random) -> None:
        self.row = node(chance)
        count = chance.randrange(3)
        self.metadata = [some(METADATA, chance, 0.25) for _ in range(count)]
        self.settings = some(CONFIGURED, chance, 0.4)
        self.there = frozenset(chance.sample(UUIDS, chance.randrange(3)))
        self.disabled, self.forced_down = chance.random() < 0.2, chance.random() < 0.2
        self.seen = NOW - timedelta(seconds=chance.choice((5, 300)))
        self.policy = chance.choice(("", "affinity", "anti-affinity", "soft-affinity"))
        self.members = chance.sample(UUIDS, chance.randrange(4))
        self.rules = chance.choice(({}, {"max_server_per_host": 2}))
        self.group_hosts = chance.choice(([], ["h1"], ["h2", "h3"]))
        self.spec = self._spec(chance)
        self.given = [chance.choice(UUIDS[:2]) for _ in range(2)]
        self.physnets = chance.choice((set(), {"public"}, {"private"}))

    def _spec(self, chance: random.Random) -> Any:
        hints = some(
            {"different_host": ([UUIDS[1]], UUIDS[1:3]), "same_host": ([UUIDS[2]], UUIDS[2:4])},
            chance,
            0.3,
        )
        vcpus, memory = chance.choice((1, 2, 2, 4)), chance.choice((64, 256, 512))
        size = {"vcpus": vcpus, "memory_mb": memory, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
        name, specs = chance.choice(("small", "big")), some(SPECS, chance, 0.12)
        specs |= some(CELLS, chance, chance.choice((0, 0.4)))
        flavor = objects.Flavor(id=1, flavorid="1", name=name, extra_specs=specs, **size)
        properties = objects.ImageMetaProps.from_dict(some(IMAGE, chance, 0.2))
        image = objects.ImageMeta(id=chance.choice(UUIDS[:2]), properties=properties)
        try:
            topology = hardware.numa_get_constraints(flavor, image)
        except exception.NovaException:
            # Nova refuses such a server before it schedules it.
            topology = None
            flavor.extra_specs = {key: specs[key] for key in specs.keys() - CELLS.keys()}
        return objects.RequestSpec(
            instance_uuid=UUIDS[3],
            project_id=chance.choice(("p1", "p2", "p4")),
            flavor=flavor,
            image=image,
            is_bfv=False,
            scheduler_hints=hints,
            instance_group=None,
            numa_topology=topology,
            pci_requests=objects.InstancePCIRequests(requests=device_requests(chance)),
            availability_zone=None,
            ignore_hosts=None,
            force_hosts=None,
            force_nodes=None,
        )

    def as_nova_has_it(self) -> tuple[Any, Any]:
        row = self.row
        state = HostState(row.host, row.hypervisor_hostname, "cell")
        apart = ("stats", "supported_instances", "created_at", "pci_stats")
        columns = vars(row) | dict.fromkeys(apart)
        compute = objects.ComputeNode(
            **{key: value for key, value in columns.items() if value is not None},
        )
        compute.disk_available_least = row.disk_available_least
        compute.stats = json.loads(row.stats)
        rows = json.loads(row.supported_instances)
        compute.supported_hv_specs = [objects.HVSpec.from_list(one) for one in rows]
        compute.numa_topology, compute.metrics = row.numa_topology, None
        compute.pci_device_pools = None
        if row.pci_stats:
            compute.pci_device_pools = pci_device_pool.from_pci_stats(row.pci_stats)
        compute.updated_at = None
        aggregates = [objects.Aggregate(metadata=one) for one in self.metadata]
        service = {
            "disabled": self.disabled,
            "forced_down": self.forced_down,
            "last_seen_up": self.seen,
            "host": row.host,
            "binary": "nova-compute",
        }
        state.update(compute, service, aggregates, dict.fromkeys(self.there))
        asked = self.spec.pci_requests.requests
        given = {row.request_id: rp for row, rp in zip(asked, self.given, strict=False)}
        mappings = {f"{uuid}-0": [rp] for uuid, rp in given.items()}
        of_placement = self.settings.get("pci_in_placement", False)
        state.allocation_candidates = [{"mappings": mappings if of_placement else {"": ["rp"]}}]
        spec = self.spec.obj_clone()
        spec.network_metadata = objects.NetworkMetadata(
            physnets=self.physnets, tunneled=not self.physnets
        )
        spec.instance_group = None
        if self.policy:
            group = objects.InstanceGroup(uuid=UUIDS[0], policy=self.policy, members=self.members)
            group.hosts, group._rules = self.group_hosts, self.rules
            group.policies = [self.policy]
            spec.instance_group = group
        return state, spec

    def as_we_have_it(self) -> tuple[SchedulerHost, ScheduleRequest]:
        service = ComputeService("cell", "h1", self.forced_down, self.seen, disabled=self.disabled)
        names = enumerate(self.metadata)
        aggregates = tuple(HostAggregate("", f"a{at}", ("h1",), one) for at, one in names)
        host = with_hardware(host_of(self.row, "cell", service, aggregates, self.there), self.row)
        text = json.dumps(self.spec.obj_to_primitive())
        group = None
        if self.policy:
            group = ServerGroup(
                UUIDS[0],
                self.policy,
                frozenset(self.members),
                self.rules.get("max_server_per_host", 1),
                frozenset(self.group_hosts),
            )
        return host, request_of(UUIDS[3], json.loads(text)["nova_object.data"], group)


def decides(one: Any, case: Case) -> bool:
    """Whether Nova lets the host pass; a filter that fails lets nobody pass."""
    given = case.as_nova_has_it()
    try:
        return bool(one.host_passes(*given))
    except (ValueError, IndexError):
        return False


def compare(names: Iterable[str], cases: int) -> tuple[dict[str, set[bool]], Counter[str]]:
    """The answers of each filter, and how often ours left it open."""
    classes = {one.__name__: one for one in nova_filters.all_filters()}
    novas = {name: classes[name]() for name in names}
    chance = random.Random(None if "TRUEUP_EXAMPLES" in os.environ else 34)
    passed: dict[str, set[bool]] = {name: set() for name in novas}
    left_open = Counter[str]()
    for number in range(cases):
        case = Case(chance)
        for key, value in case.settings.items():
            given = list(value) if isinstance(value, tuple) else None if value == "" else value
            CONF.set_override(key, given, "filter_scheduler")
        try:
            options = SchedulerOptions(**case.settings)
            host, request = case.as_we_have_it()
            checks = [(name, filter_named(name, request, NOW)) for name in novas]
            found = {name: fault_of(request, host, check, options) for name, check in checks}
            left_open.update(name for name, lacks in found.items() if isinstance(lacks, Open))
            judged = {name: not lacks for name, lacks in found.items() if isinstance(lacks, str)}
            expected = {name: decides(novas[name], case) for name in judged}
            assert judged == expected, (number, found, vars(case))
        finally:
            for key in case.settings:
                CONF.clear_override(key, "filter_scheduler")
        for name, answer in expected.items():
            passed[name].add(answer)
    return passed, left_open


def test_every_filter_decides_as_novas_own():
    passed, left_open = compare({*FILTERS, "ComputeFilter"} - GONE - OF_HARDWARE, CASES)
    always = {name for name, seen in passed.items() if seen == {True}}
    assert always == {"AllHostsFilter"}, "the cases try both answers of each filter"
    assert not left_open


@pytest.fixture(params=[True, False])
def _packing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whether Nova tries the fullest cells of a host first: nothing that we say depends on it."""
    CONF.set_override("packing_host_numa_cells_allocation_strategy", request.param, "compute")
    yield
    CONF.clear_override("packing_host_numa_cells_allocation_strategy", "compute")


@pytest.mark.usefixtures("_packing")
def test_what_is_said_of_numa_cells_and_devices_is_what_nova_decides():
    passed, left_open = compare(OF_HARDWARE, CASES * 3)
    assert all(seen == {True, False} for seen in passed.values())
    # What is left open is the order in which Nova tries, what Placement chose, and networks.
    assert all(count < CASES for count in left_open.values()), left_open
