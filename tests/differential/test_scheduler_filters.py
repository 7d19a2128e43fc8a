# SPDX-License-Identifier: Apache-2.0
"""Each of Nova's own filters, asked about the same host and request, decides as ours does.

Hosts are rows of `compute_nodes` and requests are texts of `request_specs`, as Nova writes them, so
the readers of both are compared as well.
"""

import json
import logging
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from nova import objects
from nova.conf import CONF
from nova.scheduler import filters as nova_filters
from nova.scheduler.host_manager import HostState
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
from trueup.reconcile.scheduling.filters import FILTERS, filter_named
from trueup.reconcile.sources.nova.scheduling import host_of, request_of

# PERF: building Nova's objects takes 10 ms for each; `make conformance` tries thousands.
CASES = int(os.environ.get("TRUEUP_EXAMPLES") or 400)
# Nova 34 has no such filter any more.
GONE = {"AvailabilityZoneFilter"}
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
    "hw:cpu_policy": ("dedicated",),
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
CONFIGURED = {
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
        free_disk_gb=93,
        disk_available_least=chance.choice((None, 50, 99)),
        cpu_allocation_ratio=4.0,
        ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0,
        cpu_info=json.dumps(cpu),
        supported_instances=json.dumps(chance.sample(known, chance.randrange(3))),
        stats=json.dumps(
            {"num_instances": str(chance.randrange(4)), "io_workload": str(chance.randrange(3))}
        ),
    )


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

    def _spec(self, chance: random.Random) -> Any:
        hints = some(
            {"different_host": ([UUIDS[1]], UUIDS[1:3]), "same_host": ([UUIDS[2]], UUIDS[2:4])},
            chance,
            0.3,
        )
        size = {"vcpus": 1, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
        name, specs = chance.choice(("small", "big")), some(SPECS, chance, 0.12)
        flavor = objects.Flavor(id=1, flavorid="1", name=name, extra_specs=specs, **size)
        properties = objects.ImageMetaProps.from_dict(some(IMAGE, chance, 0.2))
        return objects.RequestSpec(
            instance_uuid=UUIDS[3],
            project_id=chance.choice(("p1", "p2", "p4")),
            flavor=flavor,
            image=objects.ImageMeta(id=chance.choice(UUIDS[:2]), properties=properties),
            is_bfv=False,
            scheduler_hints=hints,
            instance_group=None,
            numa_topology=None,
            pci_requests=objects.InstancePCIRequests(requests=[]),
            availability_zone=None,
            ignore_hosts=None,
            force_hosts=None,
            force_nodes=None,
        )

    def as_nova_has_it(self) -> tuple[Any, Any]:
        row = self.row
        state = HostState(row.host, row.hypervisor_hostname, "cell")
        columns = {**vars(row), "stats": None, "supported_instances": None, "created_at": None}
        compute = objects.ComputeNode(
            **{key: value for key, value in columns.items() if value is not None},
        )
        compute.disk_available_least = row.disk_available_least
        compute.stats = json.loads(row.stats)
        rows = json.loads(row.supported_instances)
        compute.supported_hv_specs = [objects.HVSpec.from_list(one) for one in rows]
        compute.numa_topology, compute.pci_device_pools, compute.metrics = None, None, None
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
        spec = self.spec.obj_clone()
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
        host = host_of(self.row, "cell", service, aggregates, self.there)
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
    try:
        return bool(one.host_passes(*case.as_nova_has_it()))
    except (ValueError, IndexError):
        return False


def test_every_filter_decides_as_novas_own():
    classes = {one.__name__: one for one in nova_filters.all_filters()}
    names = [*(FILTERS.keys() - GONE), "ComputeFilter"]
    novas = {name: classes[name]() for name in names}
    chance = random.Random(None if "TRUEUP_EXAMPLES" in os.environ else 34)
    passed: dict[str, set[bool]] = {name: set() for name in names}
    for number in range(CASES):
        case = Case(chance)
        for key, value in case.settings.items():
            given = list(value) if isinstance(value, tuple) else None if value == "" else value
            CONF.set_override(key, given, "filter_scheduler")
        try:
            options = SchedulerOptions(**case.settings)
            host, request = case.as_we_have_it()
            for name in names:
                lacks = fault_of(request, host, filter_named(name, request, NOW), options)
                expected = decides(novas[name], case)
                assert (not lacks) == expected, (number, name, lacks, vars(case))
                passed[name].add(expected)
        finally:
            for key in case.settings:
                CONF.clear_override(key, "filter_scheduler")
    always = {name for name, seen in passed.items() if seen == {True}}
    assert always == {"AllHostsFilter"}, "the cases try both answers of each filter"
