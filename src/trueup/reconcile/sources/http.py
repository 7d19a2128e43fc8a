# SPDX-License-Identifier: Apache-2.0
"""Requests to OpenStack's services: what is no answer becomes Unreachable or AccessDenied."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from trueup.reconcile.sources.errors import AccessDenied, Unreachable

# A server closes a connection that it kept open when it likes, also while a request is on its way
# (uWSGI after each answer): whatever only reads is sent again, after so many seconds.
_SENT_AGAIN: dict[str, Any] = {"connect_retries": 2, "connect_retry_delay": 0.05}

# SAFETY: a write is sent once, whatever a nova.conf says of retries: sent again after it was made,
# it would be answered "conflict".
_SENT_ONCE: dict[str, Any] = {"connect_retries": 0, "status_code_retries": 0}


def sent(source: str, adapter: Adapter, method: str, path: str, **options: Any) -> Any:
    """The response, whatever its status."""
    again = _SENT_AGAIN if method == "GET" else _SENT_ONCE
    accepted = {"Accept": "application/json"}
    try:
        return adapter.request(path, method, raise_exc=False, headers=accepted, **again, **options)
    except (exceptions.Unauthorized, exceptions.MissingAuthPlugin) as error:
        raise AccessDenied(source, str(error)) from error
    except exceptions.ClientException as error:
        # keystoneauth appends what urllib3 says, which names the same once more.
        raise Unreachable(source, str(error).split(": HTTP")[0]) from error


def checked(source: str, response: Any) -> Any:
    """The document of a response that is one."""
    if response.status_code in (401, 403):
        raise AccessDenied(source, detail(response))
    if response.status_code >= 400:
        raise Unreachable(source, f"HTTP {response.status_code}: {detail(response)}")
    with understood(source):
        return response.json()


@contextmanager
def understood(source: str) -> Iterator[None]:
    """What lacks a part, or has another shape, is no answer of that service."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise Unreachable(source, f"what answers there is not {source}") from error


def error_code(response: Any) -> str:
    """The code of an error document of Placement, or "" where it has none."""
    try:
        return str(response.json()["errors"][0].get("code", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def detail(response: Any) -> str:
    """The first sentence of an error document, whatever shape it has."""
    try:
        document = response.json()
        if "errors" in document:
            [error, *_] = document["errors"]
            return " ".join(str(error["detail"]).split())
        # Nova and Neutron: one key that names the error.
        [error] = document.values()
        text = error if isinstance(error, str) else error["message"]
        return " ".join(str(text).split())
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"HTTP {response.status_code}"
