# SPDX-License-Identifier: Apache-2.0
"""What a fail-over of the database costs: clients claim while the server that accepts writes dies.

    python -m bench.failing_over
    python -m bench.failing_over --paths postgresql --rounds 5

For each path it prints the seconds from the death to the first acknowledged claim, and the statuses
that clients saw. It ends with 1 if an acknowledged claim is missing, a host is over-allocated, or a
worker's candidates are not those of the ledger.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bench.services import Plan, Service, running_service
from bench.terminal import say
from tests.servers.databases import as_text
from tests.servers.galera import private_galera
from tests.servers.haproxy import haproxy_before
from tests.servers.multiplexer import multiplexer_to
from tests.servers.pgbouncer import pgbouncer_to
from tests.servers.replication import Replicated, replicated_postgresql
from trueup.placement.store import schema

_CLIENTS = 4
_SECONDS_BEFORE, _SECONDS_AFTER = 3.0, 3.0
_PAUSE_SECONDS = 0.01
_WIDE, _TIGHT = (str(uuid.UUID(int=number)) for number in (1, 2))
_ROOM = {_WIDE: 100_000, _TIGHT: 100}
_ASKED = 24
"""How often candidates are asked, so that each worker answers."""
_DATABASE = "placement"
_NEWEST = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}


@dataclass(frozen=True, slots=True)
class Path:
    """The URL that the service has, and what lets the database fail and recover."""

    url: str
    fail: Callable[[], None]


@dataclass(slots=True)
class Seen:
    """What all clients saw."""

    died_at: float = 0.0
    first_at: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The host of each consumer."""


@contextlib.contextmanager
def _galera(*, freezes: bool = False, multiplexes: bool = False) -> Iterator[Path]:
    with private_galera() as cluster, contextlib.ExitStack() as stack:
        database = cluster.nodes[1].server.create_database("bench")
        schema.create(database)
        name = database.rpartition("/")[2]
        url = stack.enter_context(haproxy_before([node.url for node in cluster.nodes]))
        url = url.set(database=name)
        if multiplexes:
            url = stack.enter_context(multiplexer_to(url, pins=True))
        writer = cluster.nodes[0]
        if freezes:
            stack.callback(writer.thaw)
        yield Path(as_text(url), writer.freeze if freezes else writer.kill)


@contextlib.contextmanager
def _replicated() -> Iterator[Replicated]:
    with replicated_postgresql() as servers:
        servers.primary.server.execute(f"CREATE DATABASE {_DATABASE}")
        schema.create(as_text(servers.primary.url.set(database=_DATABASE)))
        yield servers


@contextlib.contextmanager
def _postgresql() -> Iterator[Path]:
    with _replicated() as servers:
        servers.wait_for_the_standby()

        def fail() -> None:
            servers.primary.stop()
            servers.standby.promote()

        yield Path(servers.url(_DATABASE), fail)


@contextlib.contextmanager
def _pgbouncer() -> Iterator[Path]:
    with _replicated() as servers:
        primary = servers.primary

        def fail() -> None:
            primary.stop()
            primary.start()

        direct = as_text(primary.url.set(database=_DATABASE))
        with pgbouncer_to(direct, sessions=8) as url:
            yield Path(url, fail)


_PATHS: Mapping[str, Callable[[], contextlib.AbstractContextManager[Path]]] = {
    "galera": _galera,
    "galera-frozen": lambda: _galera(freezes=True),
    "galera-multiplexed": lambda: _galera(multiplexes=True),
    "postgresql": _postgresql,
    "pgbouncer": _pgbouncer,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.failing_over")
    parser.add_argument("--paths", nargs="+", choices=list(_PATHS), default=list(_PATHS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    faults = 0
    for name in options.paths:
        for _ in range(options.rounds):
            with _PATHS[name]() as path, running_service(Plan("trueup", name), path.url) as service:
                seen = _seen(service, path)
                wrong = list(_wrong(service, seen))
            seconds = seen.first_at - seen.died_at
            counts = ", ".join(f"{count} x {status}" for status, count in seen.statuses.items())
            say(f"{name}: {seconds:.1f} s; {counts}; {'; '.join(wrong) or 'all is there'}")
            faults += len(wrong)
    return 1 if faults else 0


def _seen(service: Service, path: Path) -> Seen:
    """Let clients claim before, while and after the database fails."""
    for host, total in _ROOM.items():
        _ask(service, "POST", "/resource_providers", {"uuid": host, "name": host})
        stock = {"VCPU": {"total": total, "max_unit": total}}
        known = {"resource_provider_generation": 0, "inventories": stock}
        _ask(service, "PUT", f"/resource_providers/{host}/inventories", known)
    seen, ended = Seen(), threading.Event()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        working = [pool.submit(_claim_until, service, seen, ended) for _ in range(_CLIENTS)]
        time.sleep(_SECONDS_BEFORE)
        seen.died_at = time.monotonic()
        path.fail()
        while not seen.first_at:
            time.sleep(_PAUSE_SECONDS)
        time.sleep(_SECONDS_AFTER)
        ended.set()
        for one in working:
            one.result()
    return seen


def _claim_until(service: Service, seen: Seen, ended: threading.Event) -> None:
    for turn in itertools.count():
        if ended.is_set():
            return
        consumer, host = str(uuid.uuid4()), (_WIDE, _TIGHT)[turn % 2]
        body = {
            "allocations": {host: {"resources": {"VCPU": 1}}},
            "project_id": "bench",
            "user_id": "bench",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        began = time.monotonic()
        status, _ = _ask(service, "PUT", f"/allocations/{consumer}", body)
        seen.statuses[status] += 1
        if status == http.HTTPStatus.NO_CONTENT:
            seen.acknowledged[consumer] = host
            if seen.died_at and began > seen.died_at and not seen.first_at:
                seen.first_at = time.monotonic()
        elif status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            time.sleep(_PAUSE_SECONDS)


def _wrong(service: Service, seen: Seen) -> Iterator[str]:
    """What does not hold after the fail-over."""
    for host, total in _ROOM.items():
        _, found = _ask(service, "GET", f"/resource_providers/{host}/allocations")
        missing = {one for one, at in seen.acknowledged.items() if at == host}
        missing -= found["allocations"].keys()
        if missing:
            yield f"{len(missing)} acknowledged claims are missing"
        free = total - len(found["allocations"])
        if free < 0:
            yield f"{-free} claims too many"
        for amount, expected in ((free, 1), (free + 1, 0)):
            if amount and not _all_workers_find(service, host, amount, expected):
                yield f"candidates for {amount} of {free} free"


def _all_workers_find(service: Service, host: str, amount: int, expected: int) -> bool:
    asked = f"/allocation_candidates?in_tree={host}&resources=VCPU:{amount}"
    answers = (_ask(service, "GET", asked)[1] for _ in range(_ASKED))
    return all(len(answer["allocation_requests"]) == expected for answer in answers)


def _ask(service: Service, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    with contextlib.closing(connection):
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {**_NEWEST, "content-type": "application/json"})
        answer = connection.getresponse()
        read = answer.read()
    return answer.status, json.loads(read) if read else None


if __name__ == "__main__":
    sys.exit(main())
