# SPDX-License-Identifier: Apache-2.0
"""How the services do with many hosts.

    python -m bench.scale --hosts 50000
    python -m bench.scale --hosts 100000 --consumers 4 --workers 16

For one worker of each service: the processor time (its own and the database's) until the first
candidates, of later ones, and of those that follow a claim, and the memory of the worker. Then
Trueup with many workers, each with a view of its own: their memory together. What a service does
not answer within 120 seconds is shown as a dash.
"""

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bench import cloud, meter
from bench.client import Client, Reply
from bench.loading import load
from bench.services import DATABASES, Database, Plan, Service, running_database, running_service
from bench.session import Session
from bench.terminal import say

_ASK = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10&limit="
_TIMES = 5


@dataclass(slots=True)
class Figures:
    """Milliseconds of processor time by what was measured, and MiB."""

    ms: dict[str, float | None] = field(default_factory=dict)
    worker_mib: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(running_database(options.database))
        drawn = cloud.draw("flat", options.hosts, consumers_max=options.consumers)
        url = database.new_url("scale")
        load(url, drawn)
        hosts, rows = len(drawn.hosts), len(drawn.rows["allocations"])
        say(f"{options.database}, {hosts} hosts, {rows} allocations")
        found = {}
        for name in ("trueup", "upstream"):
            with running_service(Plan(name, name, processes=1), url) as service:
                found[name] = asyncio.run(_measure(service, database, drawn))
        say(_table(found))
        with running_service(Plan("trueup", "trueup", processes=options.workers), url) as service:
            asyncio.run(_fill(service, options.workers))
            largest, together = meter.memory_mib(service.process)
            say(
                f"{options.workers} workers: largest process {largest:.0f} MiB, all together"
                f" {together:.0f} MiB (shared pages count once)"
            )
    return 0


async def _measure(service: Service, database: Database, drawn: cloud.Cloud) -> Figures:
    figures = Figures()
    session = Session(drawn, service.connect, seed=hash(service.label))
    client = session.connect()

    async def note(name: str, ask: Callable[[], Awaitable[Reply]], times: int = 1) -> None:
        before = meter.seconds_used(service.process) + database.seconds_used()
        try:
            for _ in range(times):
                reply = await ask()
                if reply.status >= 300:
                    raise RuntimeError(f"{name}: {reply.status} {reply.body[:200]!r}")
        except TimeoutError:
            figures.ms[name] = None
            client.close()
            return
        used = meter.seconds_used(service.process) + database.seconds_used() - before
        figures.ms[name] = 1000 * used / times

    def candidates(limit: int) -> Callable[[], Awaitable[Reply]]:
        return lambda: client.request("GET", f"{_ASK}{limit}")

    await note("first candidates", candidates(10))
    if figures.ms["first candidates"] is not None:
        await note("candidates, limit=10", candidates(10), _TIMES)
        await note("candidates, limit=1000", candidates(1000), _TIMES)
        await _claim(session, client)
        await note("candidates after a claim", candidates(10))
    await note("claim", lambda: _claim(session, client), _TIMES)
    figures.worker_mib = meter.memory_mib(service.process)[0]
    return figures


async def _claim(session: Session, client: Client) -> Reply:
    body = json.dumps(session.body(session.room(), None)).encode()
    return await client.request("PUT", f"/allocations/{session.new_uuid()}", body)


async def _fill(service: Service, workers: int) -> None:
    """Ask so often at once that each worker has its view."""
    for _ in range(4):
        asked = (service.connect().request("GET", f"{_ASK}10") for _ in range(4 * workers))
        # On a few processors, to load as many views at once may take longer than a client waits.
        await asyncio.gather(*asked, return_exceptions=True)


def _table(found: dict[str, Figures]) -> str:
    ours, theirs = found["trueup"], found["upstream"]
    lines = ["| | upstream | Trueup | ratio |", "| --- | --: | --: | --: |"]
    for name, ms in ours.ms.items():
        their_ms = theirs.ms.get(name)
        ratio = f"{their_ms / ms:.1f}" if their_ms and ms else "-"
        lines.append(f"| {name}, CPU ms | {_shown(their_ms)} | {_shown(ms)} | {ratio} |")
    sizes = (theirs.worker_mib, ours.worker_mib)
    lines.append(f"| worker, MiB | {sizes[0]:.0f} | {sizes[1]:.0f} | {sizes[0] / sizes[1]:.1f} |")
    return "\n".join(lines)


def _shown(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.1f}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--database", choices=DATABASES, default="mariadb")
    parser.add_argument("--hosts", type=int, default=50_000)
    parser.add_argument("--consumers", type=int, default=50, help="of a host, at most")
    parser.add_argument("--workers", type=int, default=16)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
