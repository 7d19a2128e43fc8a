# SPDX-License-Identifier: Apache-2.0
"""Nova's documents of one compute node, over its API: those of all nodes take many pages."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from trueup.reconcile.sources.http import document_of, well_formed
from trueup.reconcile.sources.nova.documents import Document

NOVA_API = "Nova's API"
_NOT_FOUND, _SERVER_ERROR = 404, 500


def hypervisors_called(
    uuid: str, name: str, send: Callable[[str], Any], silent_hosts: Callable[[], Sequence[str]]
) -> list[Document]:
    """The compute nodes with this uuid, and those whose name contains this name, if one is given.

    `send` returns the response of a path. While a cell is down, as `silent_hosts` shows, Nova
    answers with an error, and the list is empty. Raises Unreachable and AccessDenied.
    """
    rows: list[Document] = []
    paths = {"hypervisor": f"/{uuid}"}
    if name:
        paths["hypervisors"] = f"/detail?hypervisor_hostname_pattern={quote(name)}"
    for key, path in paths.items():
        response = send(f"/os-hypervisors{path}")
        status = response.status_code
        if status == _NOT_FOUND or (status >= _SERVER_ERROR and silent_hosts()):
            continue
        found = document_of(NOVA_API, response)
        with well_formed(NOVA_API):
            rows += [found[key]] if key == "hypervisor" else found[key]
    return rows
