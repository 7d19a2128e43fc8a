# SPDX-License-Identifier: Apache-2.0
"""The properties of an image in Glance, by id or name."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from trueup.reconcile.sources.errors import NotOne
from trueup.reconcile.sources.http import document_of, send_request, well_formed

SOURCE = "Glance"


def read_image(adapter: Adapter, name: str) -> Mapping[str, str]:
    """The properties of the image with this id, or of the only one with this name.

    Raises NotOne, Unreachable and AccessDenied.
    """
    # Some catalogs name the service, others its API.
    api = "" if str(adapter.get_endpoint()).rstrip("/").endswith("/v2") else "/v2"
    response = _get(adapter, f"{api}/images/{quote(name, safe='')}")
    if response.status_code in (400, 404):
        row = _by_name(adapter, api, name)
    else:
        row = document_of(SOURCE, response)
    with well_formed(SOURCE):
        return {key: value for key, value in row.items() if isinstance(value, str)}


def _by_name(adapter: Adapter, api: str, name: str) -> Any:
    response = _get(adapter, f"{api}/images?limit=2&name={quote(name, safe='')}")
    document = document_of(SOURCE, response)
    with well_formed(SOURCE):
        rows = document["images"]
    if len(rows) != 1:
        raise NotOne("Glance", "image", name, len(rows))
    return rows[0]


def _get(adapter: Adapter, path: str) -> Any:
    return send_request(SOURCE, adapter, "GET", path)
