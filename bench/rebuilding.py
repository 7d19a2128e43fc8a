# SPDX-License-Identifier: Apache-2.0
"""Measure how long `trueup rebuild` takes: read the cloud, work out the ledger, fill, read again.

    python -m bench.rebuilding --hosts 10000 --instances 200000 --cells 4 [--lost]

Nova's databases, the old ledger and the new one are on one MariaDB. The goal is minutes.

10,000 hosts and 200,000 instances in four cells, on 2 busy cores (a load of 13 to 24), where every
consumer differs from the old ledger: 261 s by the clock, of them 57 s of this process; 1393 MiB.
"""

import argparse
import contextlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bench import cloud
from bench.loading import load
from bench.nova_rows import NovaUrls, fill
from bench.terminal import say
from tests.servers.sources import database_server

Result = TypeVar("Result")


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the cloud, rebuild its ledger in a separate process, and print the times."""
    options = _options(arguments)
    if options.nova_api:
        return _rebuild(NovaUrls(options.nova_api, options.placement), options.into, options.lost)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(database_server("mariadb"))
        placement, into = server.create_database("placement"), server.create_database("rebuilt")
        load(placement, cloud.draw("flat", options.hosts))
        urls = fill(server, placement, options.cells, options.instances)
        say("made the cloud")
        words = [sys.executable, "-m", "bench.rebuilding", "--nova-api", urls.api, "--into", into]
        words += ["--placement", urls.placement, *(["--lost"] if options.lost else [])]
        return subprocess.run(words, check=False).returncode


def _rebuild(urls: NovaUrls, into: str, lost: bool) -> int:
    # Imported here: only the measured process needs these modules.
    from bench.collecting import cloud_at
    from trueup.cli.fill import consumers_to_fill, holds, ledger_in, providers_to_fill
    from trueup.placement.manage.fill import fill_database, make_schema
    from trueup.reconcile.collect import collect
    from trueup.reconcile.facts import HostDefaults
    from trueup.reconcile.runbooks.rebuild import HostsOfNova, rebuilt
    from trueup.reconcile.sources.placement.loaded import EmptyLedger
    from trueup.reconcile.verdicts import AuditOptions

    reading = cloud_at(urls)
    if lost:
        reading = replace(reading, placement=reading.placement.reading(EmptyLedger()))
    started = time.monotonic()
    facts = _timed("collect", lambda: collect(reading, lambda *_: None))
    rows = [reading.nova.hardware(cell) for cell in reading.nova.cells()]
    hosts = HostsOfNova({u: one for found in rows for u, one in found.items()}, HostDefaults())
    # The generated services report no more, so their cells are allowed to be behind.
    options = AuditOptions(cells_allowed_behind=frozenset(facts.cells.values()))
    made = _timed("work it out", lambda: rebuilt(facts, hosts, {}, options))
    _timed("make the schema", lambda: make_schema(into))
    _timed(
        "fill",
        lambda: fill_database(into, providers_to_fill(made), consumers_to_fill(made)),
    )
    found = _timed("read again", lambda: ledger_in(into))
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    say(f"in all {time.monotonic() - started:.1f} s, {mebibytes} MiB")
    counts = (len(found.providers), len(found.consumers), len(made.lines))
    say("{} providers, {} consumers, {} lines".format(*counts))
    return 0 if holds(found, made) else 1


def _timed(name: str, work: Callable[[], Result]) -> Result:
    started, used = time.monotonic(), time.process_time()
    result = work()
    seconds, used = time.monotonic() - started, time.process_time() - used
    say(f"{name}: {seconds:.1f} s, of them {used:.1f} s of this process")
    return result


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--instances", type=int, default=200_000)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--lost", action="store_true", help="as if there were no old ledger")
    for hidden in ("--nova-api", "--placement", "--into"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
