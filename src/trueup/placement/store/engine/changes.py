# SPDX-License-Identifier: Apache-2.0
"""What changed lately, told by those who changed it: so indexes learn what to read again.

Generations cannot tell: they stay when a consumer leaves, and ids are given out in another order
than transactions commit. So there are *writers*. A writer has one row and belongs to one
transaction at a time, which numbers its change and writes it into the row, as its last statement
and all or nothing with the rest. The changes of one writer therefore commit in the order of their
numbers, without gaps, and no writer waits for another.

Whoever knows the number of each writer at some moment (a *vector*) finds in the rows what happened
since. A row keeps only the latest changes: it is complete for those who know `reaches` or more.
Who knows less than `shaped`, the last change that was not one of usage only, starts from nothing.
A row that vanished says the same. The sum of all numbers grows with each change; equal sums are
equal vectors, because each writer begins at a random number.

Upstream's service writes none of this, see `store.fingerprint`.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from secrets import randbits
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from trueup.placement.store.own_tables import RECENT_LENGTH_MAX, changes

NOTED = "trueup_noted"
"""Where a connection keeps the set of what its transaction changed, in the words below."""

USAGE_OF, PROVIDER = "u", "p"
"""What is used of the provider with the id that follows; anything else of it, or all of it."""
NAMES, ALL_USAGE, EVERYTHING = "n", "U", "*"

_SECONDS_UNUSED_MAX = 24 * 3600
_FIRST_BITS = 44

# PERF: making a statement costs more than sending it, so those of each request are made once.
_UPDATED = (
    update(changes)
    .where(changes.c.writer == bindparam("key"))
    .values({name: bindparam(name) for name in ("sequence", "reaches", "shaped", "recent")})
    .values(touched_at=bindparam("now"))
)
_INSERTED = insert(changes)
_SUM = select(func.coalesce(func.sum(changes.c.sequence), 0))
_VECTOR = select(changes.c.writer, changes.c.sequence)
_MOVED = select(
    changes.c.writer, changes.c.first, changes.c.reaches, changes.c.shaped, changes.c.recent
).where(changes.c.writer.in_(bindparam("writers", expanding=True)))

Vector = Mapping[int, int]
"""The latest number of each writer."""


@dataclass(slots=True)
class Writer:
    """What the next transaction has to know of those that had the same row."""

    key: int = field(default_factory=lambda: randbits(63))
    first: int = field(default_factory=lambda: randbits(_FIRST_BITS))
    sequence: int = -1
    reaches: int = -1
    shaped: int = -1
    recent: str = ""

    def __post_init__(self) -> None:
        self.sequence = self.reaches = self.shaped = self.first


@dataclass(frozen=True, slots=True)
class Changed:
    """What may be different. With `everything`, the rest does not matter."""

    usage_of: frozenset[int] = frozenset()
    """Ids of providers of which less or more is used."""
    providers: frozenset[int] = frozenset()
    """Ids of providers that came, went, or are different in any other way."""
    names: bool = False
    """Resource classes or traits came, went or have another name."""
    all_usage: bool = False
    everything: bool = False


def note(tx: Connection, kind: str, ids: Iterable[int] | None = None) -> None:
    """Remember until the end of the transaction what it changes."""
    tx.info[NOTED].update([kind] if ids is None else [f"{kind}{one}" for one in ids])


def publish(tx: Connection, noted: Collection[str], writer: Writer) -> None:
    """Tell what a transaction changed, as its last statement.

    No other transaction has the writer before this one has ended. It is of use also after this
    failed: what was not told stays among what its next change tells.
    """
    if not noted:
        return
    writer.sequence += 1
    is_usage = all(word.startswith((USAGE_OF, ALL_USAGE)) for word in noted)
    if not is_usage:
        writer.shaped = writer.sequence
    said = " ".join(noted)
    if len(said) > RECENT_LENGTH_MAX // 2:
        said = ALL_USAGE if is_usage else EVERYTHING
    recent = f"{writer.recent}{writer.sequence - writer.first}:{said};"
    while len(recent) > RECENT_LENGTH_MAX:
        oldest, _, recent = recent.partition(";")
        writer.reaches = writer.first + int(oldest.partition(":")[0])
    writer.recent = recent
    row = {
        "sequence": writer.sequence,
        "reaches": writer.reaches,
        "shaped": writer.shaped,
        "recent": recent,
    }
    now = int(time.time())
    if tx.execute(_UPDATED, {"key": writer.key, "now": now, **row}).rowcount == 0:
        new = {"writer": writer.key, "first": writer.first, "touched_at": now}
        tx.execute(_INSERTED, {**new, **row})


def clock(tx: Connection) -> int:
    """A number that is another one whenever anything was published."""
    return int(tx.scalar(_SUM) or 0)


def vector(tx: Connection) -> Vector:
    """How far each writer is. The clock of the same moment is the sum of it."""
    return {row.writer: row.sequence for row in tx.execute(_VECTOR)}


def since(tx: Connection, known: Vector, now: Vector) -> Changed:
    """What was published between two vectors; `now` is that of this snapshot."""
    if not known.keys() <= now.keys():
        return Changed(everything=True)
    moved = [writer for writer, sequence in now.items() if known.get(writer) != sequence]
    if not moved:
        return Changed()
    words: set[str] = set()
    for row in tx.execute(_MOVED, {"writers": moved}):
        words |= _words(row, known.get(row.writer, row.first))
    if EVERYTHING in words:
        return Changed(everything=True)
    return Changed(
        usage_of=_ids(words, USAGE_OF),
        providers=_ids(words, PROVIDER),
        names=NAMES in words,
        all_usage=ALL_USAGE in words,
    )


def forget_unused(tx: Connection) -> None:
    """Drop the rows of writers that wrote nothing for a day; their processes have ended, or slept.

    SAFETY: whoever knew one of them starts from nothing. A writer that wakes up makes its row
    again, with the numbers it had.
    """
    unused = changes.c.touched_at < int(time.time()) - _SECONDS_UNUSED_MAX
    tx.execute(delete(changes).where(unused))


def _words(row: Any, known: int) -> set[str]:
    """What the row of a writer says of its changes after a number."""
    if known < row.reaches:
        return {ALL_USAGE if known >= row.shaped else EVERYTHING}
    words: set[str] = set()
    for entry in row.recent.split(";")[:-1]:
        number, _, said = entry.partition(":")
        if row.first + int(number) > known:
            words.update(said.split(" "))
    return words


def _ids(words: Iterable[str], kind: str) -> frozenset[int]:
    return frozenset(int(word[1:]) for word in words if word[0] == kind and word != kind)
