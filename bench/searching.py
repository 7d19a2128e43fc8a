# SPDX-License-Identifier: Apache-2.0
"""Measure the search for candidates alone: CPU from the parsed query to the text of the answer.

    python -m bench.searching --hosts 1000
    python -m bench.searching --hosts 10000 --only nested 'devices*'

It uses one process, without HTTP and database, and prints the best of a few runs: after the first,
the texts of provider summaries are cached, as in a service between two claims. For the last queries
upstream's service needs minutes, or does not answer at all.
"""

import argparse
import fnmatch
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import parse_qsl

from bench import ledger_rows
from bench.cloud import SHAPES, draw
from bench.reads import READS
from bench.terminal import say
from trueup.placement.api.versions import V
from trueup.placement.api.wire import candidates as wire
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.api.wire.summary_cache import SummaryCache
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import find_candidates
from trueup.placement.index.view.build import build
from trueup.placement.index.view.columns import View
from trueup.placement.store.reads.ledger_rows import LedgerRows

_VERSION = max(V)
_ROUNDS, _ENOUGH_SECONDS = 5, 1.0
_CARD = "SRIOV_NET_VF:1,NET_BW_EGR_KILOBIT_PER_SEC:1000,NET_BW_IGR_KILOBIT_PER_SEC:1000"
_NODES = "resources=DISK_GB:10&resources1=VCPU:2,MEMORY_MB:2048&resources2=VCPU:2,MEMORY_MB:2048"
_SHARED = "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10,IPV4_ADDRESS:1"


_POOLS = "resources=DISK_GB:10,IPV4_ADDRESS:1&limit=1000"

_Cloud = tuple[LedgerRows, dict[str, str]]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    say(f"{options.hosts} hosts: milliseconds of CPU, candidates, trees that they use, bytes\n")
    for name, make in _clouds(options.hosts).items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in options.only):
            continue
        rows, queries = make()
        view = build(rows)
        for label, query in queries.items():
            say(f"{name:16} {label:34} {_measure(query, view)}")
    return 0


def _clouds(hosts: int) -> dict[str, Callable[[], _Cloud]]:
    """Clouds by name, each with its queries."""
    clouds: dict[str, Callable[[], _Cloud]] = {
        shape: partial(_drawn, shape, hosts) for shape in SHAPES
    }
    for name, count, devices in (("1x8", 1, 8), ("1x16", 1, 16), ("x8", hosts, 8)):
        queries = {
            f"{groups} of {devices} devices, {policy}": _devices(groups, policy)
            for groups in (4, 8)
            for policy in ("none", "isolate")
        }
        queries["4 of 8 devices, limit=1000"] = _devices(4, "none", 1000)
        clouds[f"devices {name}"] = partial(_wide, count, devices, queries)
    many = {
        "64 of 10000 devices": _devices(64, "none"),
        "64 of 10000 devices, isolate": _devices(64, "isolate"),
        "64 of 10000 devices, limit=1000": _devices(64, "none", 1000),
        "64 of 10000 devices, no limit": _devices(64, "none", None),
    }
    clouds["devices 1x10000"] = partial(_wide, 1, 10_000, many)
    clouds["multishare"] = lambda: (
        ledger_rows.multishare(hosts),
        {"limit=10": f"{_SHARED}&limit=10", "no limit": _SHARED, "pools only": _POOLS},
    )
    return clouds


def _drawn(shape: str, hosts: int) -> _Cloud:
    cloud = draw(shape, hosts)
    queries = {
        read.name.removeprefix("candidates_"): read.draw(cloud, random.Random(1)).partition("?")[2]
        for read in READS
        if read.name.startswith("candidates") and shape in read.shapes
    }
    if shape == "nested":
        queries["card in three parts, limit=10"] = f"resources={_CARD}&limit=10"
        for cards, policy in ((2, "none"), (3, "none"), (3, "isolate")):
            groups = "".join(f"&resources{3 + number}={_CARD}" for number in range(cards))
            queries[f"2 nodes, {cards} cards, {policy}, limit=10"] = (
                f"{_NODES}{groups}&group_policy={policy}&limit=10"
            )
    return ledger_rows.rows_of(cloud), queries


def _wide(hosts: int, devices: int, queries: dict[str, str]) -> _Cloud:
    return ledger_rows.wide(hosts, devices), queries


def _devices(groups: int, policy: str, limit: int | None = 1) -> str:
    asked = "&".join(f"resources{number}=PGPU:1" for number in range(1, groups + 1))
    bound = "" if limit is None else f"&limit={limit}"
    return f"resources=VCPU:1,MEMORY_MB:1024&{asked}&group_policy={policy}{bound}"


def _measure(query: str, view: View) -> str:
    best, began, cache = float("inf"), time.monotonic(), SummaryCache()
    for _ in range(_ROUNDS):
        start = time.process_time()
        asked = wire.parse(parse_qsl(query), _VERSION)
        found = find_candidates(asked, view, GenerationOptions())
        text = render(found, asked, _VERSION, cache).joined()
        best = min(best, time.process_time() - start)
        if time.monotonic() - began > _ENOUGH_SECONDS:
            break
    roots = {
        int(view.forest.roots[view.forest.by_uuid[uuid]])
        for column in found.columns(0, found.count).uuids
        for uuid in column
    }
    return f"{best * 1000:9.2f} {found.count:7} {len(roots):6} {len(text):10}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.searching")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--only", nargs="+", default=["*"], help="clouds, as patterns of names")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
