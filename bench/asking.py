# SPDX-License-Identifier: Apache-2.0
"""Measure `trueup why --server` on a large cloud, from the databases to the table.

    python -m bench.asking --hosts 10000 --cells 4

The goal is 3 s. Each host has two NUMA cells of 48 CPUs; the second server asks for four dedicated
CPUs, so the cells of all hosts are read, and the third for more than any cell has.

10,000 hosts in four cells, in seconds of processor time of this process, on 2 cores with a load of
16, which makes them higher than they are alone: a plain flavor 2.4, four dedicated CPUs 3.4, more
dedicated CPUs than a cell has 3.5. About 1.1 s of it is importing, and 0.3 s reading the NUMA
cells of 10,000 hosts; judging them takes most of what dedicated CPUs add.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.pool import NullPool

from bench import cloud
from bench.loading import load
from bench.nova_rows import NovaUrls, fill
from bench.terminal import say
from tests.servers.sources import database_server

CPUS, INSTANCES = 48, 20_000
FILTERS = (
    "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,"
    "ServerGroupAffinityFilter,NUMATopologyFilter,PciPassthroughFilter"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate the cloud, and ask about three of its servers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--profile", type=Path, help="a file for the profile of the second server")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(database_server("mariadb"))
        placement = server.create_database("placement")
        load(placement, cloud.draw("flat", options.hosts))
        urls = fill(server, placement, options.cells, INSTANCES)
        asked = _equip(urls)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        conf = folder / "nova.conf"
        conf.write_text(
            f"[api_database]\nconnection = {urls.api}\n"
            f"[filter_scheduler]\nenabled_filters = {FILTERS}\n"
        )
        for words, uuid in asked.items():
            profiled = options.profile if words == "dedicated CPUs" else None
            _ask(words, uuid, conf, placement, profiled)


def _ask(words: str, uuid: str, conf: Path, placement: str, profile: Path | None) -> None:
    run = [sys.executable, *(["-m", "cProfile", "-o", str(profile)] if profile else [])]
    run += [str(Path(sys.executable).with_name("trueup"))]
    run += ["why", "--server", uuid, "--nova-conf", str(conf)]
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ended = subprocess.run(
        [*run, "--database", placement], capture_output=True, text=True, check=False
    )
    seconds, now = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    own = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    verdict = next((line for line in ended.stderr.splitlines() if "left" in line), ended.stderr)
    say(f"{words}: {seconds:.1f} s, of them {own:.1f} s of this process. {verdict}")
    say(f"  a load of {os.getloadavg()[0]:.0f}")


def _equip(urls: NovaUrls) -> dict[str, str]:
    """Give hosts what the scheduler reads, and three servers a request; their UUIDs."""
    engine = sqlalchemy.create_engine(urls.api, poolclass=NullPool)
    with engine.begin() as connection:
        cells = connection.exec_driver_sql("SELECT database_connection FROM cell_mappings")
        for (url,) in cells.fetchall():
            database = sqlalchemy.engine.make_url(url).database
            connection.exec_driver_sql(
                f"UPDATE {database}.compute_nodes SET numa_topology = %s, pci_stats = %s, "
                "stats = %s, supported_instances = %s, cpu_info = %s, free_disk_gb = 6000, "
                "free_ram_mb = 262144, cpu_allocation_ratio = 4.0, ram_allocation_ratio = 1.0",
                (
                    json.dumps(_kept(cells=[_cell(0), _cell(1)])),
                    json.dumps(_kept(objects=[])),
                    json.dumps({"num_instances": "3", "io_workload": "0"}),
                    json.dumps([["x86_64", "kvm", "hvm"]]),
                    json.dumps({"vendor": "Intel", "features": [f"f{n}" for n in range(120)]}),
                ),
            )
            connection.exec_driver_sql(
                f"UPDATE {database}.services SET last_seen_up = UTC_TIMESTAMP()"
            )
        found = connection.exec_driver_sql("SELECT instance_uuid FROM request_specs LIMIT 3")
        uuids = [row[0] for row in found]
        kinds = {"a plain flavor": 0, "dedicated CPUs": 4, "more than a cell has": CPUS + 2}
        for uuid, pinned in zip(uuids, kinds.values(), strict=True):
            text = json.dumps(_request(pinned))
            connection.exec_driver_sql(
                "UPDATE request_specs SET spec = %s WHERE instance_uuid = %s", (text, uuid)
            )
    return dict(zip(kinds, uuids, strict=True))


def _kept(**fields: Any) -> dict[str, Any]:
    return {"nova_object.data": fields}


def _cell(number: int) -> dict[str, Any]:
    first = number * CPUS
    cpus = range(first, first + CPUS)
    pages = [_kept(size_kb=4, total=33554432, used=0, reserved=0)]
    return _kept(
        id=number, cpuset=[*cpus], pcpuset=[*cpus], memory=131072, cpu_usage=0, memory_usage=0,
        pinned_cpus=[*cpus[:4]], siblings=[[cpu, cpu + 1] for cpu in cpus[::2]], mempages=pages,
        socket=number,
    )  # fmt: skip


def _request(pinned: int) -> dict[str, Any]:
    flavor = {"name": "m", "vcpus": 1, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 0, "swap": 0}
    cell = _kept(
        id=0, cpuset=[], pcpuset=[*range(pinned)], memory=64, cpu_policy="dedicated", pagesize=None
    )
    topology = _kept(cells=[cell]) if pinned else None
    return _kept(project_id="p", flavor=_kept(**flavor, extra_specs={}), numa_topology=topology)


if __name__ == "__main__":
    main()
