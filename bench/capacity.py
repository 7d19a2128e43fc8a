# SPDX-License-Identifier: Apache-2.0
"""Measure time and memory of counting capacity, on top of collecting and auditing.

    python -m bench.capacity --hosts 10000 --instances 200000 --flavors 50

The goal is 10 s and 1 GiB for all flavors, and 1 s for one.
"""

import argparse
import random
import resource
import time
from datetime import datetime

from bench.terminal import say
from trueup.capacity.asked import Asked, asked_of
from trueup.capacity.counting import By, Later, capacity
from trueup.capacity.fragments import gains
from trueup.capacity.mixing import Portion, mixed
from trueup.capacity.relocation import drained, survived
from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Coverage,
    Facts,
    Flavor,
    HostMapping,
    Instance,
    Inventory,
    Provider,
)

CELL, MOMENT = "a-cell", datetime(2026, 11, 26)
STOCK = {
    "VCPU": Inventory(64, 0, 4.0, max_unit=64),
    "MEMORY_MB": Inventory(524288, 512, 1.0, max_unit=524288),
    "DISK_GB": Inventory(8000, 0, 1.0, max_unit=8000),
}
TRAITS = frozenset(f"CUSTOM_T{number}" for number in range(40))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long capacity takes.")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--instances", type=int, default=200_000)
    parser.add_argument("--flavors", type=int, default=50)
    arguments = parser.parse_args()
    flavors = some_flavors(arguments.flavors)
    facts = cloud_facts(arguments.hosts, arguments.instances, flavors)
    asked = [one for one in (asked_of(row, {}) for row in flavors) if isinstance(one, Asked)]
    before = memory()
    for label, chosen, later in (
        ("all flavors", asked, Later()),
        ("all flavors, now and after a repair", asked, Later(repaired=facts)),
        ("one flavor", asked[:1], Later()),
    ):
        began = time.process_time()
        capacity(chosen, facts, By.CLOUD, later)
        seconds = time.process_time() - began
        say(f"{label}: {seconds:.1f} s, {memory() - before} MiB more")
    mix = [Portion(asked[0], 3), Portion(asked[1], 1)]
    for label, count in (
        ("by zone, now and after a repair", lambda: capacity(asked, facts, By.ZONE, Later(facts))),
        ("a mix", lambda: mixed(mix, facts, By.CLOUD, Later())),
        ("drain", lambda: drained(facts, "host0")),
        ("drain for a flavor", lambda: gains(facts, asked[0])),
        ("survive", lambda: survived(facts, 1)),
    ):
        began = time.process_time()
        count()
        say(f"{label}: {time.process_time() - began:.1f} s")


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def some_flavors(number: int) -> list[Flavor]:
    source = random.Random(1)
    return [
        Flavor(
            f"flavor{one}",
            vcpus=source.choice((1, 2, 4, 8, 16)),
            memory_mb=source.choice((2048, 4096, 8192, 16384, 65536)),
            root_gb=source.choice((10, 40, 160)),
            ephemeral_gb=0,
            swap_mb=0,
            extra_specs={} if one % 5 else {"trait:CUSTOM_FAST": "required"},
        )
        for one in range(number)
    ]


def cloud_facts(hosts: int, instances: int, flavors: list[Flavor]) -> Facts:
    source = random.Random(2)
    names = [f"host{number}" for number in range(hosts)]
    servers = [
        _server(number, names[number % hosts], flavors, source) for number in range(instances)
    ]
    return Facts(
        taken_at=MOMENT,
        coverage=Coverage(()),
        cells={CELL: "cell1"},
        providers={
            name: Provider(
                name, name, 1, name, STOCK,
                traits=TRAITS | {"CUSTOM_FAST"} if number % 2 else TRAITS,
            )
            for number, name in enumerate(names)
        },
        consumers={row.uuid: {str(row.host): _amounts(row.flavor)} for row in servers},
        instances=tuple(servers),
        compute_nodes=tuple(ComputeNode(name, CELL, name, name) for name in names),
        services=tuple(
            ComputeService(CELL, name, forced_down=False, last_seen=MOMENT) for name in names
        ),
        host_mappings=tuple(HostMapping(name, CELL) for name in names),
    )  # fmt: skip


def _server(number: int, host: str, flavors: list[Flavor], source: random.Random) -> Instance:
    return Instance(
        uuid=f"server{number}", name=f"server{number}", cell=CELL, project="p", user="u",
        host=host, node=host, vm_state="active", task_state=None, deleted=False, hidden=False,
        updated_at=MOMENT, flavor=source.choice(flavors),
    )  # fmt: skip


def _amounts(flavor: Flavor | None) -> dict[str, int]:
    if flavor is None:
        return {}
    return {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mb, "DISK_GB": flavor.root_gb}


if __name__ == "__main__":
    main()
