# SPDX-License-Identifier: Apache-2.0
"""Measure time and memory of reading a whole cloud: Nova's cells and Placement.

    python -m bench.collecting --hosts 10000 --instances 200000 --cells 4

The goal is 20 s and 1.5 GiB on two cores. Processor time is the limit, and half of it is the
database's: 25 microseconds for an instance with its extra row and its network information, 2 to 3
for each of the 1.2 million other rows. In Trueup's process an instance takes 10, other rows 1 to 2.

10,000 hosts and 200,000 instances in four cells, on 2 busy cores (a load of 4 to 8), in turns with
the version before rows were structs and batches were bounded by keys:

    before   34 to 39 s by the clock, 17.7 s of this process, 19.4 s of the database, 696 MiB
    after    16 to 19 s,               8.2 s,                 10.3 s,                 618 MiB
"""

import argparse
import contextlib
import cProfile
import dataclasses
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from bench import cloud, meter
from bench.loading import load
from bench.nova_rows import NovaUrls, fill
from bench.terminal import say
from tests.servers.sources import database_server

# Seconds of processor time that an idle server uses in two seconds.
_IDLE_SECONDS = 0.1
# How many parts of an audit are named.
_SLOWEST = 5

GOAL_SECONDS, GOAL_MEBIBYTES = 20.0, 1536


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the cloud, read it in a separate process, and print time and memory."""
    options = _options(arguments)
    if options.nova_api:
        return _read(NovaUrls(options.nova_api, options.placement), options.profile)
    with contextlib.ExitStack() as stack:
        before = meter.children_of(os.getpid())
        server = stack.enter_context(database_server("mariadb"))
        serving = meter.children_of(os.getpid()) - before
        placement = server.create_database("placement")
        started = time.monotonic()
        load(placement, cloud.draw("flat", options.hosts))
        urls = fill(server, placement, options.cells, options.instances)
        say(f"made the cloud in {time.monotonic() - started:.0f} s")
        words = [sys.executable, "-m", "bench.collecting", "--nova-api", urls.api]
        words += ["--placement", urls.placement, *(["--profile"] if options.profile else [])]
        _settled(serving)
        used = sum(map(meter.seconds_used, serving))
        code = subprocess.run(words, check=False).returncode
        used = sum(map(meter.seconds_used, serving)) - used
        say(f"the database: {used:.1f} s of processor time, if it was started here")
        return code


def _settled(serving: set[int]) -> None:
    """Wait until the server is idle: its cleanup after loading takes as long as the reading."""
    before = -1.0
    while (used := sum(map(meter.seconds_used, serving))) - before > _IDLE_SECONDS:
        before = used
        time.sleep(2)


def _read(urls: NovaUrls, profile: bool) -> int:
    # Imported here: only the measured process needs these modules.
    from trueup.cli.terminal.progress import progress
    from trueup.reconcile.collect import collect

    reading = cloud_at(urls)
    if profile:
        return _profile(reading)
    started, used = time.monotonic(), time.process_time()
    with progress() as report:
        facts = collect(reading, report)
    seconds = time.monotonic() - started
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for answer in facts.coverage.sources:
        say(f"  {answer.source}: {answer.rows} rows, {answer.unread_rows} not understood")
    used = time.process_time() - used
    say(f"collect: {seconds:.1f} s, of them {used:.1f} s of this process, {mebibytes} MiB")
    say(f"{len(facts.instances)} instances, {len(facts.consumers)} consumers")
    _audit(facts)
    return 0 if seconds <= GOAL_SECONDS and mebibytes <= GOAL_MEBIBYTES else 1


def _audit(facts: Any) -> None:
    """Audit, and say of which defects it asks longest.

    The generated services report no more, so their cells are allowed to be behind.
    """
    from trueup.reconcile.audit import audit
    from trueup.reconcile.defects import DEFECTS
    from trueup.reconcile.rules.claims import all_claims
    from trueup.reconcile.verdicts import AuditOptions

    options = AuditOptions(cells_allowed_behind=frozenset(facts.cells.values()))
    started, used = time.monotonic(), time.process_time()
    result = audit(facts, options)
    seconds, used = time.monotonic() - started, time.process_time() - used
    say(f"audit: {seconds:.1f} s, of them {used:.1f} s of this process")
    say(f"{len(result.findings)} findings, {len(result.unchecked)} not checked")
    # The same facts without what the audit has derived from them. Claims are judged once for all.
    anew = dataclasses.replace(facts)
    spent = {"claims": _seconds(lambda: all_claims(anew))}
    for defect in DEFECTS:
        spent[defect.NAME] = _seconds(partial(_exhaust, defect.find, anew, options))
    for name in sorted(spent, key=lambda name: -spent[name])[:_SLOWEST]:
        say(f"  {name}: {spent[name]:.2f} s of this process")


def _exhaust(find: Callable[..., Iterable[object]], *arguments: object) -> None:
    for _ in find(*arguments):
        pass


def _seconds(work: Callable[[], object]) -> float:
    used = time.process_time()
    work()
    return time.process_time() - used


def _profile(reading: Any) -> int:
    """Read the sources one after the other, because a profiler sees only one thread."""
    cells = reading.nova.cells()
    parts = {cell.name: partial(reading.nova.contents, cell) for cell in cells}
    parts["registry"] = partial(reading.nova.registry, cells)
    parts["ledger"] = partial(reading.placement.ledger, lambda done, total: None)
    profiler = cProfile.Profile()
    for name, read in parts.items():
        started = time.process_time()
        read()
        say(f"{name}: {time.process_time() - started:.2f} s of this process")
        profiler.runcall(read)
    profiler.print_stats("tottime")
    return 0


def cloud_at(urls: NovaUrls) -> Any:
    """The cloud in these databases; nobody answers for Placement's API."""
    from keystoneauth1 import adapter, session, token_endpoint

    from trueup.reconcile.sources.cloud import Cloud
    from trueup.reconcile.sources.nova.databases import NovaDatabases
    from trueup.reconcile.sources.placement.client import Placement
    from trueup.reconcile.sources.placement.database import PlacementDatabase

    nobody = session.Session(auth=token_endpoint.Token("http://127.0.0.1:1", "nobody"))
    return Cloud(
        nova=NovaDatabases(urls.api, None),
        placement=Placement(adapter.Adapter(nobody), PlacementDatabase(urls.placement)),
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--instances", type=int, default=200_000)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--nova-api", help=argparse.SUPPRESS)
    parser.add_argument("--placement", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
