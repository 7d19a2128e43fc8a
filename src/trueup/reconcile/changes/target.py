# SPDX-License-Identifier: Apache-2.0
"""What each file of this folder offers, and the values that it takes and returns."""

from dataclasses import dataclass
from typing import Any, Protocol

from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied
from trueup.reconcile.sources.http import REQUEST_ID, detail, error_code, is_own_error
from trueup.reconcile.steps import Change, State, Version

# Placement's error code when the generation of a consumer or a provider has changed meanwhile.
CONCURRENT_UPDATE = "placement.concurrent_update"


@dataclass(frozen=True, slots=True)
class Found:
    """A target as it is now; if `state` is None, it does not exist."""

    state: State | None
    version: Version


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered to a write.

    `sent` is False if nothing was sent, as when the target is not as planned. `definite`: if the
    write was not accepted, no part of it was or will be done. Otherwise only the target shows
    whether it was. `finished`: a part that was not done by then will never be done. `version` is
    the version that an accepted write left. `conflict`: another write, not necessarily to this
    target, came in between. `named`: the target's version, where only a refusal shows it. `own`:
    the service itself gave the answer, and not a proxy.
    """

    accepted: bool
    definite: bool = True
    finished: bool = True
    reason: Reason | None = None
    request_id: str = ""
    version: Version | None = None
    conflict: bool = False
    named: Version | None = None
    sent: bool = True
    own: bool = False

    @property
    def refused_by_service(self) -> bool:
        """Whether the service itself refused it."""
        return self.sent and self.definite and self.own


# The target was changed since it was planned, so nothing was sent.
NOT_AS_PLANNED = Reply(False, sent=False)


def reply_of(response: Any, success: int, version: Version | None = None) -> Reply:
    """A service's response to a write. Raises AccessDenied.

    Any status but `success` and the client errors (4xx) does not show whether the write was made.
    A 500 comes from the service itself, which has finished with the request. Other server errors
    may come from a proxy that no longer waits.
    """
    status = response.status_code
    request_id = response.headers.get(REQUEST_ID, "")
    if status in (401, 403):
        raise AccessDenied(response.url, detail(response))
    if status == success:
        return Reply(True, request_id=request_id, version=version)
    return Reply(
        False,
        definite=400 <= status < 500,
        finished=400 <= status <= 500,
        reason=because("answer", words=detail(response)),
        request_id=request_id,
        own=is_own_error(response),
        conflict=status == 409 and error_code(response) == CONCURRENT_UPDATE,
    )


def generation_after(change: Change) -> Version:
    """The version after a replace: each generation plus one."""
    return {
        part: number + 1 if isinstance(number, int) else number
        for part, number in change.version.items()
    }


class TargetKind(Protocol):
    """How targets of one kind are read and written. Both raise Unreachable and AccessDenied."""

    def read(self, target: Any, cloud: Cloud) -> Found:
        """The state of a target, and its version."""

    def write(self, change: Change, cloud: Cloud) -> Reply:
        """Write `after` if the target still has the change's version. Never send it twice."""

    def version_after(self, change: Change) -> Version | None:
        """The version that only this change leaves, for the parts where it is known."""
