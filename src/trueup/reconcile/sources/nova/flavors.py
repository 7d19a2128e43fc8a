# SPDX-License-Identifier: Apache-2.0
"""Flavors of Nova's API: one by id or name, or all."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import Flavor
from trueup.reconcile.sources.errors import NotOne
from trueup.reconcile.sources.http import document_of, send_request, well_formed

SOURCE = "Nova's API"
# The first microversion in which a flavor has its extra specs (Rocky).
_MICROVERSION = "2.61"


def read_flavor(adapter: Adapter, name: str) -> Flavor:
    """The flavor with this id, or the only one with this name.

    Raises NotOne, Unreachable and AccessDenied.
    """
    row = _by_id(adapter, name) or _by_name(adapter, name)
    with well_formed(SOURCE):
        return _flavor(row)


def read_flavors(adapter: Adapter) -> tuple[Flavor, ...]:
    """The flavors that servers can be made with, by name. Raises Unreachable and AccessDenied."""
    rows = list(_every(adapter))
    with well_formed(SOURCE):
        found = [_flavor(row) for row in rows if not row["OS-FLV-DISABLED:disabled"]]
    return tuple(sorted(found, key=lambda flavor: flavor.name))


def _flavor(row: Any) -> Flavor:
    return Flavor(
        name=str(row["name"]),
        vcpus=int(row["vcpus"]),
        memory_mb=int(row["ram"]),
        root_gb=int(row["disk"]),
        ephemeral_gb=int(row["OS-FLV-EXT-DATA:ephemeral"]),
        # Before 2.75 no swap is an empty text.
        swap_mb=int(row["swap"] or 0),
        extra_specs={str(key): str(value) for key, value in row["extra_specs"].items()},
    )


def _by_id(adapter: Adapter, name: str) -> Any:
    response = _get(adapter, f"/flavors/{quote(name, safe='')}")
    return None if response.status_code == 404 else document_of(SOURCE, response)["flavor"]


def _by_name(adapter: Adapter, name: str) -> Any:
    with well_formed(SOURCE):
        found = [row for row in _every(adapter) if row["name"] == name]
    if len(found) != 1:
        raise NotOne("Nova", "flavor", name, len(found))
    return found[0]


def _every(adapter: Adapter) -> Iterator[Any]:
    """The documents of all flavors, those that are not public too."""
    path: str | None = "/flavors/detail?is_public=None"
    while path:
        document = document_of(SOURCE, _get(adapter, path))
        with well_formed(SOURCE):
            rows = document["flavors"]
            last = rows[-1]["id"] if rows and document.get("flavors_links") else None
        yield from rows
        path = f"/flavors/detail?is_public=None&marker={quote(last, safe='')}" if last else None


def _get(adapter: Adapter, path: str) -> Any:
    return send_request(SOURCE, adapter, "GET", path, microversion=_MICROVERSION)
