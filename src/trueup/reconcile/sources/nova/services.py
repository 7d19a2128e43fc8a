# SPDX-License-Identifier: Apache-2.0
"""Nova's compute services over its API: the only objects of Nova that a step may change."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import as_compared
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import document_of, send_request, well_formed

NOVA = "Nova's API"
# Services have uuids, and one request sets all fields, since 2.53 (Pike).
MICROVERSION = "2.53"
# With a service Nova deletes the providers of all its nodes, one by one, before it answers: an
# ironic service may have thousands.
DELETION_SECONDS = 600


class ComputeServices:
    """A client of Nova's `os-services`. Every method raises Unreachable or AccessDenied."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def row(self, host: str) -> Mapping[str, Any] | None:
        """The service of a host as Nova shows it, in whatever letters; None if there is none."""
        path = f"/os-services?binary=nova-compute&host={quote(host)}"
        answer = document_of(NOVA, send_request(NOVA, self._adapter, "GET", path, **_VERSION))
        with well_formed(NOVA):
            # A service may keep other letters than its compute node, where Nova finds it by either.
            wanted = as_compared(host)
            rows = [row for row in answer["services"] if as_compared(row["host"]) == wanted]
        return rows[0] if rows else None

    def set(self, host: str, fields: Mapping[str, Any]) -> Any:
        path = self._path(host)
        return send_request(NOVA, self._adapter, "PUT", path, json=dict(fields), **_VERSION)

    def delete(self, host: str) -> Any:
        path, seconds = self._path(host), DELETION_SECONDS
        return send_request(NOVA, self._adapter, "DELETE", path, timeout=seconds, **_VERSION)

    def _path(self, host: str) -> str:
        row = self.row(host)
        if row is None:
            raise Unreachable(NOVA, f"it has no compute service on {host}")
        return f"/os-services/{row['id']}"


_VERSION: dict[str, Any] = {"microversion": MICROVERSION}
