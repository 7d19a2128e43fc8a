# SPDX-License-Identifier: Apache-2.0
"""How much slower the slowest requests are than the usual ones.

    python -m bench.tails --hosts 10000 --operations 'candidates_*' schedule
    python -m bench.tails --hosts 10000 --foreign

For each operation of Trueup it prints p50, p99 and their ratio. With `--foreign`, upstream's
service writes to the same database all the time; Trueup has to find that by itself. GET / does
nothing that could be slow: its ratio is what the machine, the web server and the client add. It is
measured again and again between the others.
"""

import argparse
import asyncio
import contextlib
import fnmatch
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from bench import cloud
from bench.loading import load
from bench.measuring import Competitor, Effort, Measured, compare
from bench.reads import READS, Read
from bench.services import DATABASES, Database, Plan, Service, running_database, running_service
from bench.session import Session
from bench.terminal import say
from bench.writes import WRITES, Write, having_consumers

_PAUSE_SECONDS = 0.2
_CONSUMERS_TO_DELETE = 4000
"""Of a few deletions, p99 would be the slowest."""
_USUAL = ["show", "list_filtered", "get_usages", "get_allocations", "candidates_*"]
_USUAL += ["claim", "replace", "move", "delete", "put_inventories", "schedule"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(running_database(options.database))
        drawn = cloud.draw(options.shape, options.hosts)
        url = database.new_url("tails")
        load(url, drawn)
        sizes = {"processes": options.processes, "threads": options.threads}
        service = stack.enter_context(running_service(Plan("trueup", "trueup", **sizes), url))
        upstream = None
        if options.foreign:
            plan = Plan("upstream", "upstream", processes=1, threads=2)
            upstream = stack.enter_context(running_service(plan, url))
        asyncio.run(_run(options, drawn, database, service, upstream))
    return 0


async def _run(
    options: argparse.Namespace,
    drawn: cloud.Cloud,
    database: Database,
    service: Service,
    upstream: Service | None,
) -> None:
    say("| operation | requests | p50 ms | p99 ms | p99 / p50 | GET / beside it |")
    say("| --- | --: | --: | --: | --: | --: |")
    competitor = Competitor(service, Session(drawn, service.connect))
    # A service with few clients takes one thread after the other.
    uncounted = 3 * options.processes * options.threads
    effort = Effort(options.seconds, turns=1, uncounted=uncounted)
    root = next(one for one in READS if one.name == "root")
    async with _writing(upstream, drawn):
        for operation in _chosen(options):
            [measured] = await compare(operation, options.clients, [competitor], database, effort)
            short = Effort(min(options.seconds, 2.0), turns=1)
            [least] = await compare(root, options.clients, [competitor], database, short)
            say(_line(operation, measured, least))


@contextlib.asynccontextmanager
async def _writing(upstream: Service | None, drawn: cloud.Cloud) -> AsyncIterator[None]:
    """While the block runs, upstream's service makes and deletes consumers."""
    if upstream is None:
        yield
        return
    session = Session(drawn, upstream.connect, seed=11)
    client = session.connect()

    async def write() -> None:
        while True:
            await session.have_living(client, 1 - len(session.living))
            await asyncio.sleep(_PAUSE_SECONDS)

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing


def _line(operation: Read | Write, measured: Measured, least: Measured) -> str:
    p50, p99 = measured.percentile_ms(0.5), measured.percentile_ms(0.99)
    of_root = least.percentile_ms(0.99) / least.percentile_ms(0.5)
    ratio = p99 / p50
    errors = f", {measured.errors} errors" if measured.errors else ""
    return (
        f"| {operation.name}{errors} | {measured.count} | {p50:.1f} | {p99:.1f} | {ratio:.1f}"
        f" | {of_root:.1f} |"
    )


def _chosen(options: argparse.Namespace) -> list[Read | Write]:
    deletions = having_consumers(_CONSUMERS_TO_DELETE)
    writes = (replace(one, prepare=deletions) if one.name == "delete" else one for one in WRITES)
    every: tuple[Read | Write, ...] = (*READS, *writes)
    return [
        one
        for one in every
        if any(fnmatch.fnmatch(one.name, pattern) for pattern in options.operations)
        and (isinstance(one, Write) or options.shape in one.shapes)
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.tails",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--database", choices=DATABASES, default="mariadb")
    add("--hosts", type=int, default=10_000)
    add("--shape", choices=cloud.SHAPES, default="flat")
    add("--clients", type=int, default=1)
    add("--operations", nargs="+", default=_USUAL, metavar="PATTERN")
    add("--seconds", type=float, default=10.0, help="for each operation")
    add("--processes", type=int, default=2)
    add("--threads", type=int, default=4, help="of each process")
    add("--foreign", action="store_true", help="upstream's service writes beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
