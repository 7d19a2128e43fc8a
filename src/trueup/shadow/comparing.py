# SPDX-License-Identifier: Apache-2.0
"""Sends a read to both services, and again if the answers differ, until the reason is clear.

The ledger changes meanwhile, and Trueup's candidates show the writes of another service some
seconds later. So a difference counts only if upstream gives the same answer before and after
Trueup's.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.http import document_of, send_request, well_formed
from trueup.shadow.answers import Answer, Difference, differences, is_same, is_same_choice
from trueup.shadow.reads import Read

_ROUNDS = 3
_REFUSED = frozenset({401, 403})
_BUSY = 503
_NEVER_AT_REST = "upstream's answer changed at every attempt"


class Outcome(StrEnum):
    """The result of sending a read to both services."""

    SAME = "same"
    MOVED = "same when asked again"
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A read, its outcome, and the response times of the first answers if both came."""

    read: Read
    outcome: Outcome
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    seconds: tuple[float, float] | None = None
    upstream: Answer | None = None


class Asked(Protocol):
    """A service that answers reads."""

    def ask(self, read: Read) -> Answer:
        """Its answer. Raises Unreachable or AccessDenied."""


class AskedOverHttp:
    """A Placement service that is sent only GETs."""

    def __init__(self, name: str, adapter: Any):
        self._name, self._adapter = name, adapter

    def newest_minor(self) -> int:
        """The minor number of its newest microversion. Raises Unreachable."""
        root = document_of(
            self._name, send_request(self._name, self._adapter, "GET", "/", authenticated=False)
        )
        with well_formed(self._name):
            return int(str(root["versions"][0]["max_version"]).partition(".")[2])

    def ask(self, read: Read) -> Answer:
        """Its answer. Raises Unreachable or AccessDenied."""
        headers = {"OpenStack-API-Version": f"placement {read.microversion}"}
        began = time.perf_counter()
        response = send_request(
            self._name,
            self._adapter,
            "GET",
            read.path,
            headers=headers if read.microversion else {},
            redirect=False,
        )
        seconds = time.perf_counter() - began
        if response.status_code in _REFUSED:
            raise AccessDenied(self._name, f"HTTP {response.status_code} for {read.path}")
        if response.status_code == _BUSY:
            raise Unreachable(self._name, "HTTP 503")
        return Answer(response.status_code, _body(response), seconds)


@dataclass(frozen=True, slots=True)
class Services:
    """Both services, and the pause before candidates are requested again."""

    upstream: Asked
    trueup: Asked
    pause: Callable[[], None]


def compare(read: Read, services: Services) -> Comparison:
    """Send a read to both services."""
    try:
        return _compare(read, services)
    except (Unreachable, AccessDenied) as error:
        reason = f"{error.source}: {error.reason}"
        return Comparison(read, Outcome.NOT_COMPARED, reason=reason)


def _compare(read: Read, services: Services) -> Comparison:
    before, ours = services.upstream.ask(read), services.trueup.ask(read)
    seconds = before.seconds, ours.seconds
    if is_same(before, ours):
        return Comparison(read, Outcome.SAME, seconds=seconds, upstream=before)
    everything = read.without_limit()
    if everything is not None and before.status == ours.status == 200:
        return replace(_compare_choice(read, everything, services), seconds=seconds)
    for _ in range(_ROUNDS):
        if read.is_of_candidates:
            services.pause()
        ours, after = services.trueup.ask(read), services.upstream.ask(read)
        if is_same(ours, before) or is_same(ours, after):
            return Comparison(read, Outcome.MOVED, seconds=seconds, upstream=after)
        if is_same(before, after):
            found = differences(after, ours)
            return Comparison(read, Outcome.DIFFERENT, found, seconds=seconds, upstream=after)
        before = after
    return Comparison(read, Outcome.NOT_COMPARED, reason=_NEVER_AT_REST)


def _compare_choice(read: Read, everything: Read, services: Services) -> Comparison:
    """Compare limited answers, for which each service may choose other candidates.

    The whole answer is read before and after them: if it changed meanwhile, they may have been
    chosen from neither.
    """
    whole = _compare(everything, services)
    for outcome in (Outcome.SAME, *[Outcome.MOVED] * _ROUNDS):
        if whole.outcome not in (Outcome.SAME, Outcome.MOVED) or whole.upstream is None:
            return replace(whole, read=read)
        theirs, ours = services.upstream.ask(read), services.trueup.ask(read)
        after = _compare(everything, services)
        if after.upstream is not None and is_same(whole.upstream, after.upstream):
            if is_same_choice(theirs, ours, after.upstream):
                return Comparison(read, outcome, upstream=theirs)
            found = differences(theirs, ours)
            return Comparison(read, Outcome.DIFFERENT, found, upstream=theirs)
        whole = after
    return Comparison(read, Outcome.NOT_COMPARED, reason=_NEVER_AT_REST)


def _body(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text
