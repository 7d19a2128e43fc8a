# SPDX-License-Identifier: Apache-2.0
"""As many servers fit into the NUMA cells of a host as Nova's own check lets in."""

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from nova import exception, objects
from nova.virt import hardware

from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import Flavor, HostCell, MemoryPages
from trueup.reconcile.scheduling.numa import HostCells, topology_of

objects.register_all()
EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
MANY = settings(
    max_examples=int(EXAMPLES or 300), derandomize=EXAMPLES is None, database=None, deadline=None
)
SERVERS_MAX = 30
CPU_RATIO, RAM_RATIO = 4.0, 1.5


@st.composite
def host_cells(draw: st.DrawFn, number: int) -> HostCell:
    first = number * 100
    shared, dedicated = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    memory = draw(st.sampled_from((1024, 2048, 4096)))
    pinned = draw(st.integers(0, dedicated))
    mine = frozenset(range(first + 50, first + 50 + dedicated))
    # Up to Stein the same processors were for both.
    others = draw(st.sampled_from((mine, frozenset(range(first, first + shared)))))
    cpus = sorted(mine | others)
    threads = draw(st.sampled_from((1, 2)))
    cores = tuple(frozenset(cpus[at : at + threads]) for at in range(0, len(cpus), threads))
    # Nova itself fails to count the usage of a host without any pages.
    sizes = draw(st.sampled_from(((4,), (4, 2048), (4, 2048, 1048576))))
    pages = (
        MemoryPages(
            size,
            total := draw(st.sampled_from((0, 1, memory * 256 // size, memory * 1024 // size))),
            draw(st.integers(0, total // 2)),
            draw(st.integers(0, total // 4)),
        )
        for size in sizes
    )
    return HostCell(
        number=number,
        shared=others,
        dedicated=mine,
        memory_mb=memory,
        cpus_used=draw(st.integers(0, len(others))),
        memory_used_mb=draw(st.sampled_from((0, 512))),
        pinned=frozenset(range(first + 50, first + 50 + pinned)),
        pages=tuple(pages),
        siblings=cores,
    )


hosts = st.integers(1, 3).flatmap(lambda n: st.tuples(*(host_cells(number) for number in range(n))))
flavors = st.builds(
    lambda vcpus, memory, specs: Flavor("f", vcpus, memory, 0, 0, 0, specs),
    st.sampled_from((1, 2, 4)),
    st.sampled_from((256, 512, 1024, 1023)),
    st.fixed_dictionaries(
        {},
        optional={
            "hw:numa_nodes": st.sampled_from(("1", "2", "3")),
            "hw:cpu_policy": st.sampled_from(("dedicated", "shared", "mixed")),
            "hw:cpu_dedicated_mask": st.sampled_from(("0", "0-1", "^0")),
            "hw:cpu_thread_policy": st.sampled_from(("prefer", "isolate", "require")),
            "trait:HW_CPU_HYPERTHREADING": st.sampled_from(("required", "forbidden")),
            "hw:mem_page_size": st.sampled_from(("small", "large", "any", "2048", "2MB", "1GB")),
            "hw:emulator_threads_policy": st.just("isolate"),
            "hw:numa_cpus.0": st.just("0"),
            "hw:numa_cpus.1": st.sampled_from(("1", "1-3")),
            "hw:numa_mem.0": st.just("256"),
            "hw:numa_mem.1": st.just("256"),
        },
    ),
)


def nova_cell(cell: HostCell) -> Any:
    return objects.NUMACell(
        id=cell.number,
        cpuset=set(cell.shared),
        pcpuset=set(cell.dedicated),
        memory=cell.memory_mb,
        cpu_usage=cell.cpus_used,
        memory_usage=cell.memory_used_mb,
        pinned_cpus=set(cell.pinned),
        siblings=[set(core) for core in cell.siblings],
        mempages=[
            objects.NUMAPagesTopology(
                size_kb=one.size_kb, total=one.total, used=one.used, reserved=one.reserved
            )
            for one in cell.pages
        ],
        socket=0,
    )


def lets_in(cells: tuple[HostCell, ...], wanted: Any) -> int:
    """How many servers Nova lets into a host with these cells, one after the other."""
    host = objects.NUMATopology(cells=[nova_cell(one) for one in cells])
    limits = objects.NUMATopologyLimits(
        cpu_allocation_ratio=CPU_RATIO, ram_allocation_ratio=RAM_RATIO
    )
    for count in range(SERVERS_MAX):
        server = hardware.numa_fit_instance_to_host(host, wanted.obj_clone(), {}, limits=limits)
        if not server:
            return count
        host = hardware.numa_usage_from_instance_numa(host, server)
    return SERVERS_MAX


@MANY
@given(hosts, flavors)
def test_as_many_servers_fit_into_numa_cells_as_nova_lets_in(
    cells: tuple[HostCell, ...], flavor: Flavor
) -> None:
    image = objects.ImageMeta(properties=objects.ImageMetaProps())
    asked = objects.Flavor(
        vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, extra_specs=dict(flavor.extra_specs)
    )
    need = topology_of(flavor, {})
    try:
        wanted = hardware.numa_get_constraints(asked, image)
    except exception.NovaException:
        return
    if wanted is None:
        assert need is None
        return
    if isinstance(need, Unknown) or need is None:
        raise AssertionError(f"Nova wants {wanted}, and we have {need}")
    counted = HostCells(cells, CPU_RATIO, RAM_RATIO).count(need, SERVERS_MAX)
    assert counted == lets_in(cells, wanted)
