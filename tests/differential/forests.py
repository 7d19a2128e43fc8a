# SPDX-License-Identifier: Apache-2.0
"""Generated forests as rows of both services' databases, and questions to them as requests.

PARITY: what is asked leaves out three faults of upstream, which docs/service/differences.md tells:
amounts that are added up in an object that several candidates share (several suffixed groups beside
one without suffix, isolated), pools that are offered to one of several trees only (the same, with
pools), and pools below other providers.
"""

import random
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from tests.differential.calls import Draft
from tests.placement.index.clouds import SHARES, Host
from tests.placement.index.forests import SUFFIXES, draw_forest, draw_request
from trueup.model.requests import CandidateRequest, RequestGroup

NEWEST, FLATTENED = "1.39", "1.28"
_NAMESPACE = uuid.UUID(int=36)
_TREES = ("flat", "numa", "pci", "bandwidth")
_SHARING = ("sharing", "sharing", *_TREES)
_WITHOUT_BOTH = tuple(suffixes for suffixes in SUFFIXES if "" not in suffixes or suffixes == ("",))
TRAITS = {"FAST": "CUSTOM_FAST", "SMALL": "CUSTOM_SMALL", SHARES: SHARES}
CONSUMER, OWNER = str(uuid.UUID(int=7)), "owner"

Question = tuple[list[Host], list[Draft]]


def uuid_of(name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, name))


def draw_question(source: random.Random, length: int) -> Question:
    """A forest, and so many requests to it."""
    shares = source.random() < 0.4
    cloud, classes = draw_forest(source, _SHARING if shares else _TREES)
    suffixes = _WITHOUT_BOTH if shares else SUFFIXES
    return cloud, [draft_of(draw_request(source, cloud, classes, suffixes)) for _ in range(length)]


def draft_of(request: CandidateRequest) -> Draft:
    """The request at the newest microversion, or for a client that does not know trees."""
    if any(not group.suffix for group in request.groups) and len(request.groups) > 1:
        request = replace(request, isolate=False)
    old = not request.nested and not _needs_newest(request)
    version = FLATTENED if old else NEWEST
    query = urlencode(list(_pairs(request)))
    return Draft("GET", f"/allocation_candidates?{query}", version)


def _needs_newest(request: CandidateRequest) -> bool:
    return bool(request.root_required or request.root_forbidden) or any(
        group.suffix
        or group.in_tree
        or group.forbidden_aggregates
        or any(len(any_of) > 1 for any_of in group.required)
        for group in request.groups
    )


def _pairs(request: CandidateRequest) -> Iterator[tuple[str, str]]:
    for group in request.groups:
        for name, value in _pairs_of_group(group):
            yield f"{name}{group.suffix}", value
    yield "group_policy", "isolate" if request.isolate else "none"
    root = [TRAITS[name] for name in request.root_required]
    root += [f"!{TRAITS[name]}" for name in request.root_forbidden - request.root_required]
    if root:
        yield "root_required", ",".join(root)
    for suffixes in request.same_subtrees:
        yield "same_subtree", ",".join(sorted(suffixes))


def _pairs_of_group(group: RequestGroup) -> Iterator[tuple[str, str]]:
    if group.resources:
        yield "resources", ",".join(f"{name}:{amount}" for name, amount in group.resources)
    required = [sorted(TRAITS[name] for name in any_of) for any_of in group.required]
    for names in required:
        yield "required", names[0] if len(names) == 1 else f"in:{','.join(names)}"
    # Of what is required nothing else may be forbidden.
    forbidden = {TRAITS[name] for name in group.forbidden}.difference(*required)
    if forbidden:
        yield "required", ",".join(f"!{name}" for name in sorted(forbidden))
    for any_of in group.member_of:
        yield "member_of", f"in:{','.join(sorted(map(uuid_of, any_of)))}"
    if group.forbidden_aggregates:
        yield "member_of", f"!in:{','.join(sorted(map(uuid_of, group.forbidden_aggregates)))}"
    if group.in_tree:
        yield "in_tree", uuid_of(group.in_tree)


def plant(database: Path, cloud: Sequence[Host]) -> None:
    """Write a forest into a database that has none."""
    with sqlite3.connect(database) as rows:
        ids = {host.name: number for number, host in enumerate(cloud, 1)}
        for host in cloud:
            _plant_provider(rows, host, ids)
        for name in {name for host in cloud for name in host.aggregates}:
            _insert(rows, "placement_aggregates", uuid=uuid_of(name))
        for host in cloud:
            for name in host.aggregates:
                rows.execute(
                    "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
                    " SELECT ?, id FROM placement_aggregates WHERE uuid = ?",
                    (ids[host.name], uuid_of(name)),
                )
        _insert(rows, "projects", id=1, external_id=OWNER)
        _insert(rows, "users", id=1, external_id=OWNER)
        _insert(rows, "consumers", uuid=CONSUMER, project_id=1, user_id=1, generation=1)
    rows.close()


def _plant_provider(rows: sqlite3.Connection, host: Host, ids: dict[str, int]) -> None:
    key, root = ids[host.name], host.name.partition("_")[0]
    _insert(
        rows,
        "resource_providers",
        id=key,
        uuid=uuid_of(host.name),
        name=host.name,
        generation=1,
        root_provider_id=ids[root] if host.parent else key,
        parent_provider_id=ids[host.parent] if host.parent else None,
    )
    for name in host.traits:
        rows.execute(
            "INSERT INTO resource_provider_traits (resource_provider_id, trait_id)"
            " SELECT ?, id FROM traits WHERE name = ?",
            (key, TRAITS[name]),
        )
    for name, total in host.totals.items():
        (class_id,) = rows.execute(
            "SELECT id FROM resource_classes WHERE name = ?", (name,)
        ).fetchone()
        place = {"resource_provider_id": key, "resource_class_id": class_id}
        limits = {"min_unit": 1, "max_unit": host.max_unit, "step_size": host.step_size}
        _insert(
            rows, "inventories", **place, total=total, reserved=0, allocation_ratio=1.0, **limits
        )
        if host.used.get(name):
            _insert(rows, "allocations", **place, consumer_id=CONSUMER, used=host.used[name])


def _insert(rows: sqlite3.Connection, table: str, **values: object) -> None:
    marks = ", ".join("?" * len(values))
    rows.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
    )
