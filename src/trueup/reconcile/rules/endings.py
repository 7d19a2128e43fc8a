# SPDX-License-Identifier: Apache-2.0
"""Endings: what the status of a move that is over says about where the guest of its instance is.

Pure. The table follows Nova's source (nova.compute.manager, nova.conductor), path by path, and
`docs/expected.md` shows it. Nova reaches some statuses on several paths, and on some of these paths
the guest is not where Nova has the instance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

# The statuses of a move that succeeded, and ended on its target or, if reverted, on its source.
ON_TARGET = frozenset({"completed", "confirmed", "done"})
ON_SOURCE = frozenset({"reverted"})


class Says(StrEnum):
    """What the ending of a move says about the host on which Nova has the instance."""

    HERE = "the move ended on that host, and the guest is there"
    NOTHING = "the move moved nobody: earlier moves decide"
    OPEN = "the guest may be on the other host of the move"


@dataclass(frozen=True, slots=True)
class EndOfMove:
    """What an ending says, and which step of Nova makes it so."""

    says: Says
    why: str

    @property
    def certain(self) -> bool:
        return self.says is not Says.OPEN


@dataclass(frozen=True, slots=True)
class Endings:
    """What one status says of an instance that Nova has on the source, or on the target.

    SAFETY: its vm state says nothing. Nova sets `error` where it gave up amid a move, and operators
    reset that state; where the guest is does not change with it.
    """

    on_source: EndOfMove
    on_target: EndOfMove


_ROLLED_BACK = EndOfMove(Says.NOTHING, "the source sets it after it has rolled the move back")
_CANCELLED = EndOfMove(
    Says.NOTHING, "the source sets it if the move did not begin or was rolled back"
)
_POST_FAILED = EndOfMove(
    Says.OPEN, "nova-compute sets it also when the last steps fail, after the guest has left"
)
_WRITTEN_LATE = EndOfMove(Says.HERE, "Nova writes the target only once the guest runs there")
_COMPLETED = EndOfMove(Says.HERE, "the last step of the move")
_HOST_NOT_WRITTEN = EndOfMove(
    Says.OPEN, "an older Nova sets it also when the target failed to write its name"
)
_CONFIRMED = EndOfMove(Says.HERE, "the source has deleted its guest")
_SOURCE_GAVE_UP = EndOfMove(Says.OPEN, "the source has deleted its guest and disks")
_REVERTED = EndOfMove(Says.HERE, "the target has deleted its guest")
_NOT_TAKEN_BACK = EndOfMove(
    Says.OPEN, "the target has deleted its guest, and the source has not taken it back"
)
_OFF_ON_SOURCE = EndOfMove(Says.NOTHING, "the guest is off, and Nova starts it where it has it")
_OFF_ON_TARGET = EndOfMove(Says.HERE, "the guest is off, and Nova starts it where it has it")
_REBUILT = EndOfMove(
    Says.HERE, "the target has rebuilt it; whether the source runs it is asked apart"
)
_REBUILT_ELSEWHERE = EndOfMove(Says.OPEN, "the target has rebuilt it")
_REBUILD_FAILED = EndOfMove(
    Says.OPEN, "the target sets it whatever failed, also after it has started the guest"
)
_GIVEN_UP = EndOfMove(Says.OPEN, "Nova sets it before the target begins, operators at any time")
_NOT_WRITTEN = EndOfMove(Says.NOTHING, "Nova does not set this status for this kind")

_LIVE = {
    "completed": Endings(_HOST_NOT_WRITTEN, _COMPLETED),
    "failed": Endings(_ROLLED_BACK, _ROLLED_BACK),
    "cancelled": Endings(_CANCELLED, _CANCELLED),
    "error": Endings(_POST_FAILED, _WRITTEN_LATE),
}
_COLD = {
    "confirmed": Endings(_SOURCE_GAVE_UP, _CONFIRMED),
    "reverted": Endings(_REVERTED, _NOT_TAKEN_BACK),
    "error": Endings(_OFF_ON_SOURCE, _OFF_ON_TARGET),
    "failed": Endings(_OFF_ON_SOURCE, _OFF_ON_TARGET),
}
_EVACUATION = {
    "done": Endings(_REBUILT_ELSEWHERE, _REBUILT),
    "completed": Endings(_REBUILT_ELSEWHERE, _REBUILT),
    "failed": Endings(_REBUILD_FAILED, _REBUILT),
    "error": Endings(_GIVEN_UP, _REBUILT),
}
# By kind and status; the statuses that Nova sets.
ENDINGS: Mapping[tuple[str, str], Endings] = {
    (kind, status): endings
    for kind, rows in (
        ("live-migration", _LIVE),
        ("migration", _COLD),
        ("resize", _COLD),
        ("evacuation", _EVACUATION),
    )
    for status, endings in rows.items()
}


def endings_of(kind: str, status: str) -> Endings:
    """What a status says; of one that Nova does not set for this kind, what its word means."""
    if known := ENDINGS.get((kind, status)):
        return known
    if status in ON_TARGET:
        return Endings(_HOST_NOT_WRITTEN, _COMPLETED)
    if status in ON_SOURCE:
        return Endings(_REVERTED, _NOT_TAKEN_BACK)
    return Endings(_NOT_WRITTEN, _NOT_WRITTEN)
