# SPDX-License-Identifier: Apache-2.0
"""Requests to OpenStack's services. Every failure becomes Unreachable or AccessDenied."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from trueup.reconcile.sources.errors import AccessDenied, Cause, LoginRefused, Unreachable

# A server may close a kept-alive connection at any time, even while a request is in transit (uWSGI
# does so after each answer). Requests that only read are therefore repeated, after this delay. A
# request that timed out is not repeated: it would take as long again.
ATTEMPTS = 3
KEYSTONE = "Keystone"
_DELAY_SECONDS = 0.05

# The header in which a service gives the number of a request.
REQUEST_ID = "x-openstack-request-id"

# SAFETY: a write is sent once, whatever nova.conf says about retries: if the first one was made, a
# second one would be answered with "conflict".
_SENT_ONCE: dict[str, Any] = {"connect_retries": 0, "status_code_retries": 0}
_READ_ONCE: dict[str, Any] = {"connect_retries": 0}


def send_request(source: str, adapter: Adapter, method: str, path: str, **options: Any) -> Any:
    """Send a request and return the response, whatever its status."""
    reads = method == "GET"
    options |= _READ_ONCE if reads else _SENT_ONCE
    options["headers"] = {"Accept": "application/json", **options.get("headers", {})}
    try:
        for _ in range(ATTEMPTS - 1 if reads else 0):
            try:
                return adapter.request(path, method, raise_exc=False, **options)
            except exceptions.ConnectFailure:
                sleep(_DELAY_SECONDS)
        return adapter.request(path, method, raise_exc=False, **options)
    except (exceptions.Unauthorized, exceptions.MissingAuthPlugin) as error:
        raise LoginRefused(source, str(error)) from error
    except exceptions.ClientException as error:
        raise _unreachable(source, adapter, str(error)) from error


def _unreachable(source: str, adapter: Adapter, words: str) -> Unreachable:
    """The error for a request that got no answer; Keystone is asked before the service is."""
    auth = adapter.auth or getattr(adapter.session, "auth", None)
    keystone = str(getattr(auth, "auth_url", None) or "").rstrip("/")
    if keystone and keystone in words:
        source = KEYSTONE
    cause = Cause.UNKNOWN
    if "ProxyError" in words:
        cause = Cause.PROXY
    elif "SSL" in words:
        cause = Cause.TLS
    # keystoneauth appends urllib3's message, which says the same again.
    return Unreachable(source, words.split(": HTTP")[0], cause)


def document_of(source: str, response: Any) -> Any:
    """The JSON document of a successful response."""
    if response.status_code in (401, 403):
        raise AccessDenied(source, detail(response))
    if response.status_code >= 400:
        raise Unreachable(source, f"HTTP {response.status_code}: {detail(response)}")
    with well_formed(source):
        return response.json()


@contextmanager
def well_formed(source: str) -> Iterator[None]:
    """Turns the errors of reading a malformed document into Unreachable."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Unreachable(source, f"its answer is not one of {source}") from error


def error_code(response: Any) -> str:
    """The code of an error document of Placement, or "" without one."""
    try:
        return str(response.json()["errors"][0].get("code", ""))
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def is_own_error(response: Any) -> bool:
    """Whether this error document comes from the service itself, not from a proxy.

    A service numbers its answers in a header. Placement also numbers them in the document, which
    reveals a proxy that only changes the status of an answer.
    """
    number = response.headers.get(REQUEST_ID, "")
    try:
        document = response.json()
        numbered = [error["request_id"] for error in document.get("errors", ())[:1]]
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    return bool(number) and numbered in ([], [number])


def detail(response: Any) -> str:
    """The first message of an error document, in any of the services' formats."""
    try:
        document = response.json()
        if "errors" in document:
            [error, *_] = document["errors"]
            return " ".join(str(error["detail"]).split())
        # Nova and Neutron: an object with one key, the name of the error.
        [error] = document.values()
        text = error if isinstance(error, str) else error["message"]
        return " ".join(str(text).split())
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"HTTP {response.status_code}"
