# SPDX-License-Identifier: Apache-2.0
"""Endings: where the guest of an instance is, by the status of a move that is over.

Pure. The table follows Nova's source (nova.compute.manager, nova.conductor), path by path, and
`docs/expected.md` shows it. Nova reaches some statuses on several paths, and on some of them the
guest is not where Nova has the instance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from trueup.reconcile.facts import Instance

# The statuses of a move that succeeded, and ended on its target or, if reverted, on its source.
ON_TARGET = frozenset({"completed", "confirmed", "done"})
ON_SOURCE = frozenset({"reverted"})
# Nova's power state of a guest that its hypervisor does not have.
NO_STATE = 0


class Says(StrEnum):
    """What the ending of a move says about the host on which Nova has the instance."""

    HERE = "the move ended on that host, and the guest is there"
    NOTHING = "the guest was not moved: earlier moves decide"
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

    `given_up`: it is on the source, and Nova gave up amid the move. Otherwise Nova rolled the move
    back, or never began it.
    """

    on_source: EndOfMove
    on_target: EndOfMove
    given_up: EndOfMove

    def of(self, given_up: bool, on_target: bool) -> EndOfMove:
        """What it says of an instance on this side, if Nova gave up amid the move, or did not."""
        if on_target:
            return self.on_target
        return self.given_up if given_up else self.on_source


def was_given_up(instance: Instance) -> bool:
    """Whether Nova may have given up amid a move of the instance: it then sets the state `error`.

    SAFETY: operators reset that state, and the guest stays where it is. When Nova next reads the
    power states, it finds no guest on the host that it names, and notes that there is none.
    """
    return instance.vm_state == "error" or instance.power_state == NO_STATE


def _ends(on_source: EndOfMove, on_target: EndOfMove, given_up: EndOfMove | None = None) -> Endings:
    return Endings(on_source, on_target, given_up or on_source)


_ROLLED_BACK = EndOfMove(Says.NOTHING, "the source sets it after it has rolled the move back")
_CANCELLED = EndOfMove(
    Says.NOTHING, "the source sets it if the move did not begin or was rolled back"
)
_STATE_KEPT = EndOfMove(Says.NOTHING, "Nova kept the state: it was rolled back, or had not begun")
_POST_FAILED = EndOfMove(Says.OPEN, "also set if the last steps fail after the guest has left")
_WRITTEN_LATE = EndOfMove(Says.HERE, "Nova writes the target only once the guest runs there")
_COMPLETED = EndOfMove(Says.HERE, "the last step of the move")
_HOST_NOT_WRITTEN = EndOfMove(
    Says.OPEN, "an older Nova also sets it when the target cannot save its name"
)
_CONFIRMED = EndOfMove(Says.HERE, "the source has deleted its guest")
_SOURCE_GAVE_UP = EndOfMove(Says.OPEN, "the source has deleted its guest and disks")
_REVERTED = EndOfMove(Says.HERE, "the target has deleted its guest")
_NOT_TAKEN_BACK = EndOfMove(
    Says.OPEN, "the target has deleted its guest, and the source has not taken it back"
)
_OFF_ON_SOURCE = EndOfMove(
    Says.NOTHING, "the guest is off, and Nova starts it on the host that it names"
)
_OFF_ON_TARGET = EndOfMove(
    Says.HERE, "the guest is off, and Nova starts it on the host that it names"
)
_REBUILT = EndOfMove(
    Says.HERE, "the target has rebuilt it; another check asks if the source runs it too"
)
_REBUILT_ELSEWHERE = EndOfMove(Says.OPEN, "the target has rebuilt it")
_CLAIM_FAILED = EndOfMove(
    Says.NOTHING, "Nova kept the state: the target had not begun to rebuild it"
)
_REBUILD_FAILED = EndOfMove(Says.OPEN, "any failure sets it, even after the guest was started")
_GIVEN_UP = EndOfMove(Says.OPEN, "Nova sets it before the target begins, operators at any time")
_NOT_WRITTEN = EndOfMove(Says.NOTHING, "Nova does not set this status for this kind")

_LIVE = {
    "completed": _ends(_HOST_NOT_WRITTEN, _COMPLETED),
    "failed": _ends(_ROLLED_BACK, _ROLLED_BACK),
    "cancelled": _ends(_CANCELLED, _CANCELLED),
    "error": _ends(_STATE_KEPT, _WRITTEN_LATE, _POST_FAILED),
}
_COLD = {
    "confirmed": _ends(_SOURCE_GAVE_UP, _CONFIRMED),
    "reverted": _ends(_REVERTED, _NOT_TAKEN_BACK),
    "error": _ends(_OFF_ON_SOURCE, _OFF_ON_TARGET),
    "failed": _ends(_OFF_ON_SOURCE, _OFF_ON_TARGET),
}
_EVACUATION = {
    "done": _ends(_REBUILT_ELSEWHERE, _REBUILT),
    "completed": _ends(_REBUILT_ELSEWHERE, _REBUILT),
    "failed": _ends(_CLAIM_FAILED, _REBUILT, _REBUILD_FAILED),
    "error": _ends(_CLAIM_FAILED, _REBUILT, _GIVEN_UP),
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
    """What a status says. A status that Nova does not set for this kind counts by its word."""
    if known := ENDINGS.get((kind, status)):
        return known
    if status in ON_TARGET:
        return _ends(_HOST_NOT_WRITTEN, _COMPLETED)
    if status in ON_SOURCE:
        return _ends(_REVERTED, _NOT_TAKEN_BACK)
    return _ends(_NOT_WRITTEN, _NOT_WRITTEN)
