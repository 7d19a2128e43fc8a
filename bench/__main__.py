# SPDX-License-Identifier: Apache-2.0
"""Measure upstream's Placement and Trueup's side by side.

    python -m bench --database mariadb --hosts 100 --clients 1 4 --json figures.json
    python -m bench --operations claim 'get_*' --seconds 10
    python -m bench --noise-floor

The return code is 1 if the two services do not give equal answers.
"""

import argparse
import asyncio
import contextlib
import fnmatch
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from bench import cloud, meter, report
from bench.agreement import disagreements
from bench.latency import relay_to
from bench.loading import load
from bench.measuring import Competitor, Effort, compare
from bench.reads import READS, Read
from bench.services import (
    DATABASES,
    SERVERS,
    Database,
    Plan,
    Service,
    running_database,
    running_service,
)
from bench.session import Session
from bench.terminal import say
from bench.writes import WRITES, Write
from tests.servers.databases import as_text

_EVERY: tuple[Read | Write, ...] = (*READS, *WRITES)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    operations = _chosen(options)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(running_database(options.database, options.commit))
        drawn = cloud.draw(options.shape, options.hosts, options.seed)
        competitors = []
        for plan in _plans(options):
            url = database.new_url(plan.label)
            load(url, drawn)
            if options.latency:
                url = stack.enter_context(_far_away(url, options.latency))
            service = stack.enter_context(running_service(plan, url))
            competitors.append(Competitor(service, Session(drawn, service.connect)))
        return asyncio.run(_run(options, operations, competitors, database))


@contextlib.contextmanager
def _far_away(url: str, milliseconds: float) -> Iterator[str]:
    """The same database behind a network that takes so long each way."""
    named = make_url(url)
    with relay_to(named.port or 0, milliseconds / 1000) as port:
        yield as_text(named.set(host="127.0.0.1", port=port))


async def _run(
    options: argparse.Namespace,
    operations: Sequence[Read | Write],
    competitors: Sequence[Competitor],
    database: Database,
) -> int:
    sessions = (competitors[0].session, competitors[1].session)
    differences = await disagreements(operations, sessions)
    for difference in differences:
        say(f"The answers differ. {difference}")
    if differences and not options.anyway:
        return 1
    services = [competitor.service for competitor in competitors]
    effort = Effort(options.seconds, options.turns)
    say(f"{_describe(options)}\n\n{report.header(services)}")
    cells = []
    for operation in operations:
        for clients in options.clients:
            results = await compare(operation, clients, competitors, database, effort)
            cell = report.Cell(operation.name, clients, (results[0], results[1]))
            cells.append(cell)
            say(report.line(cell))
            if options.json:
                _write(options, [report.as_json(one, services) for one in cells], services)
    say("")
    for service in services:
        largest, together = meter.memory_mib(service.process)
        say(
            f"{service.label}: largest process {largest:.0f} MiB, all together {together:.0f} MiB,"
            f" first answer after {service.seconds_to_start:.1f} s"
        )
    return 1 if differences else 0


def _write(options: argparse.Namespace, cells: list[Any], services: Sequence[Service]) -> None:
    figures = {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "options": {name: str(value) for name, value in vars(options).items()},
        "memory_mib": {
            service.label: [round(size, 1) for size in meter.memory_mib(service.process)]
            for service in services
        },
        "seconds_to_start": {
            service.label: round(service.seconds_to_start, 2) for service in services
        },
        "cells": cells,
    }
    options.json.write_text(json.dumps(figures, indent=1) + "\n")


def _plans(options: argparse.Namespace) -> list[Plan]:
    sizes = {"processes": options.processes, "threads": options.threads}
    upstream = Plan("upstream", "upstream", driver=options.upstream_driver, **sizes)
    if options.noise_floor:
        again = Plan("upstream", "upstream-again", driver=options.upstream_driver, **sizes)
        return [upstream, again]
    return [upstream, Plan("trueup", "trueup", server=options.server, **sizes)]


def _chosen(options: argparse.Namespace) -> list[Read | Write]:
    return [
        one
        for one in _EVERY
        if any(fnmatch.fnmatch(one.name, pattern) for pattern in options.operations)
        and (isinstance(one, Write) or options.shape in one.shapes)
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Operations: {', '.join(one.name for one in _EVERY)}",
    )
    add = parser.add_argument
    add("--database", choices=DATABASES, default="mariadb")
    add("--hosts", type=int, default=100)
    add("--shape", choices=cloud.SHAPES, default="flat")
    add("--seed", type=int, default=1, help="of the cloud")
    add("--clients", type=int, nargs="+", default=[1], metavar="N", help="how many ask at once")
    add(
        "--operations",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="names or patterns, such as 'get_*'",
    )
    add("--seconds", type=float, default=4.0, help="for each operation, clients and service")
    add("--turns", type=int, default=8, help="how often the services alternate in that time")
    add("--processes", type=int, default=2)
    add("--threads", type=int, default=4, help="of each process")
    add("--server", choices=SERVERS, default="uwsgi", help="under which Trueup runs")
    add("--upstream-driver", metavar="NAME", help="for example mysqldb instead of PyMySQL")
    add(
        "--noise-floor",
        action="store_true",
        help="upstream against itself: shows which ratios mean no difference",
    )
    add(
        "--latency",
        type=float,
        default=0.0,
        metavar="MS",
        help="milliseconds each way between a service and its database server",
    )
    add(
        "--commit",
        type=float,
        default=0.0,
        metavar="MS",
        help="milliseconds that the database server waits in each commit",
    )
    add("--anyway", action="store_true", help="measure even if answers differ")
    add("--json", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def _describe(options: argparse.Namespace) -> str:
    load_average = os.getloadavg()[0]
    return (
        f"{options.database}, {options.shape}, {options.hosts} hosts; {options.processes} processes"
        f" of {options.threads} threads each; load of the machine before: {load_average:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
