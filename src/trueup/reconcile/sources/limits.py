# SPDX-License-Identifier: Apache-2.0
"""Reads Nova's own quotas from its API database, and Nova's unified limits from Keystone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from keystoneauth1.adapter import Adapter
from sqlalchemy import column, select, table

from trueup.reconcile.facts import Limits
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Database, Session
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import KEYSTONE, document_of, send_request, well_formed

# The class of quotas that applies to every project: Nova reads no other.
_EVERY_PROJECT = "default"
_UNLIMITED = -1
_OF_PROJECTS = table("quotas", *map(column, ("id", "project_id", "resource", "hard_limit")))
_OF_CLASSES = table("quota_classes", *map(column, ("id", "class_name", "resource", "hard_limit")))


@dataclass(frozen=True, slots=True)
class LimitEndpoint:
    """The service and region of Nova's registered limits, as [oslo_limit] says."""

    endpoint: str | None = None
    service_name: str | None = None
    service_type: str | None = None
    region: str | None = None
    interface: str | None = None


def own_quotas(database: Database, configured: Mapping[str, int]) -> Limits:
    """Nova's quotas; `configured` are the defaults of nova.conf. Raises Unreachable."""

    def fetch(session: Session) -> Limits:
        columns = Columns(session, database.source, {})
        default = dict(configured)
        rows = session.every_row(select(*columns.of(_OF_CLASSES)), _OF_CLASSES.c.id)
        default |= {
            row.resource: _amount(row.hard_limit)
            for row in rows
            if row.class_name == _EVERY_PROJECT
        }
        of_project: dict[str, dict[str, int]] = defaultdict(dict)
        for row in session.every_row(select(*columns.of(_OF_PROJECTS)), _OF_PROJECTS.c.id):
            of_project[row.project_id][row.resource] = _amount(row.hard_limit)
        return Limits(default, of_project)

    return database.ask(fetch)


def _amount(limit: int | None) -> int:
    return _UNLIMITED if limit is None else limit


def unified_limits(keystone: Adapter, of: LimitEndpoint) -> Limits:
    """The limits in Keystone that are registered for Nova. Raises Unreachable, AccessDenied."""
    service, region = _registered_for(keystone, of)
    asked = {"service_id": service} | ({"region_id": region} if region else {})
    with well_formed(KEYSTONE):
        model = str(_get(keystone, "/limits/model")["model"]["name"])
        default = {
            str(row["resource_name"]): int(row["default_limit"])
            for row in _listed(keystone, "registered_limits", asked)
        }
        of_project: dict[str, dict[str, int]] = defaultdict(dict)
        for row in _listed(keystone, "limits", asked):
            # A limit of a domain has no project.
            if project := row.get("project_id"):
                # PARITY: without a region there may be several, and Nova takes the first.
                mine = of_project[project]
                mine.setdefault(str(row["resource_name"]), int(row["resource_limit"]))
    return Limits(default, of_project, model)


def _registered_for(keystone: Adapter, of: LimitEndpoint) -> tuple[str, str | None]:
    """The ids of the service and the region: those of Nova's endpoint."""
    with well_formed(KEYSTONE):
        if of.endpoint:
            found = _get(keystone, f"/endpoints/{of.endpoint}")["endpoint"]
        else:
            named = {"type": of.service_type, "name": of.service_name}
            service = str(_only(keystone, "services", named)["id"])
            interface = (of.interface or "public").removesuffix("URL")
            asked = {"service_id": service, "region_id": of.region, "interface": interface}
            found = _only(keystone, "endpoints", asked)
        return str(found["service_id"]), found.get("region_id")


def _only(keystone: Adapter, what: str, asked: Mapping[str, str | None]) -> Any:
    """The only row of this kind. Raises Unreachable if there is no row, or several."""
    named = {key: word for key, word in asked.items() if word}
    rows = list(_listed(keystone, what, named))
    if len(rows) != 1:
        raise Unreachable(KEYSTONE, f"it has {len(rows)} {what} with {urlencode(named)}")
    return rows[0]


def _listed(keystone: Adapter, what: str, asked: Mapping[str, str]) -> Iterable[Any]:
    document = _get(keystone, f"/{what}?{urlencode(asked)}")
    if document.get("truncated"):
        raise Unreachable(KEYSTONE, f"it does not list all {what}: its list_limit is too small")
    rows: list[Any] = document[what]
    return rows


def _get(keystone: Adapter, path: str) -> Any:
    return document_of(KEYSTONE, send_request(KEYSTONE, keystone, "GET", path))
