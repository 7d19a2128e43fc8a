# SPDX-License-Identifier: Apache-2.0
"""The recent changes of the ledger, so that an index knows what to read again.

Every transaction that writes publishes what it changed. Generations do not show it: they stay the
same when a consumer is deleted. Ids do not show it either: they are not in the order of commits.

A *writer* is one row of the table of changes, and belongs to one transaction at a time. As its last
statement, the transaction gives its change the writer's next number, and writes it into the row. So
the changes of one writer commit in the order of their numbers, without gaps, and no writer waits
for another one.

A *vector* is the latest number of each writer. A reader with an earlier vector finds the changes
since then in the rows. A row keeps only the most recent changes: it is complete for readers whose
number is `reaches` or more. A reader must read the whole ledger again if its number is less than
`shaped`, the last change of more than usage; or if it knows a writer whose row is gone, unless a
change says that the row was unused. The *clock* is the sum of all numbers, each times the weight of
its writer. It grows with each change, and equal clocks mean equal vectors: each writer starts at a
random number, and a number that one writer lost weighs less or more than one that another gained.

A database can lose committed changes: a backup is restored, or a replica that was behind takes
over. SAFETY: a writer then never uses its lost numbers for other changes, since readers that know
them would take the new changes for the lost ones. It finds its row behind, and begins a new one.

Upstream's service publishes nothing; `store.reads.fingerprint` finds its writes.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from secrets import randbits
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, case, delete, func, select, update

from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.own_tables import RECENT_LENGTH_MAX, changes
from trueup.placement.store.packed_rows import packed, parts_of

NOTED = "trueup_noted"
"""The key in `Connection.info` of the changes that a transaction will publish. Only for `note`."""

USAGE_OF, PROVIDER = "u", "p"
"""The usage, or anything else, of the provider whose id follows."""
NAMES, ALL_USAGE, EVERYTHING = "n", "U", "*"
"""The names of classes or traits; the usage of all providers; the whole ledger."""
FORGOTTEN = "w"
"""A writer whose row was deleted because it was unused: its key, an equals sign, its sequence."""

_SECONDS_UNUSED_MAX = 3600
_FORGOTTEN_MAX = 16
_FIRST_BITS = 40
_WEIGHTS = 1021
"""The weight of a writer is its key, modulo this prime, plus one: sums stay within 64 bits."""

_PARTS = ("sequence", "reaches", "shaped", "recent")
_WRITTEN = (*_PARTS, "touched_at")
_UPDATED = FixedStatement(
    update(changes)
    .where(changes.c.writer == bindparam("key"), changes.c.sequence == bindparam("committed"))
    .values({name: bindparam(name) for name in _WRITTEN})
)
_INSERTED = inserting(changes, "writer", "first", *_WRITTEN)
_SUM = FixedStatement(
    select(func.coalesce(func.sum(changes.c.sequence * (changes.c.writer % _WEIGHTS + 1)), 0))
)
_VECTOR = FixedStatement(select(changes.c.writer, changes.c.sequence))
_UNUSED = (
    select(changes.c.writer, changes.c.sequence)
    .where(changes.c.touched_at < bindparam("before"))
    .order_by(changes.c.writer)
)
_FORGOTTEN_ROW = FixedStatement(
    delete(changes).where(
        changes.c.writer == bindparam("key"), changes.c.sequence == bindparam("known")
    )
)
_said = packed(changes.c.first, changes.c.reaches, changes.c.shaped, changes.c.recent)
# A row without news is short: the reader knows its number.
_NEWS = ListStatement(
    "known",
    lambda known: select(
        packed(
            changes.c.writer, changes.c.sequence, case((changes.c.sequence.not_in(known), _said))
        )
    ),
)

Vector = Mapping[int, int]
"""The latest number of each writer."""


@dataclass(slots=True)
class Writer:
    """The state of one row of the table of changes, passed from transaction to transaction."""

    key: int = field(default_factory=lambda: randbits(63))
    first: int = field(default_factory=lambda: randbits(_FIRST_BITS))
    sequence: int = -1
    reaches: int = -1
    shaped: int = -1
    committed: int = -1
    """The number of the last transaction that was committed."""
    recent: str = ""
    is_new: bool = False
    """Whether the last transaction inserted the row."""

    def __post_init__(self) -> None:
        self.sequence = self.reaches = self.shaped = self.committed = self.first

    def add(self, noted: Collection[str]) -> dict[str, Any]:
        """The columns of the row with these changes as the latest."""
        self.sequence += 1
        is_usage = all(word.startswith((USAGE_OF, ALL_USAGE, FORGOTTEN)) for word in noted)
        if not is_usage:
            self.shaped = self.sequence
        said = " ".join(noted)
        if len(said) > RECENT_LENGTH_MAX // 2:
            said = ALL_USAGE if is_usage else EVERYTHING
        recent = f"{self.recent}{self.sequence - self.first}:{said};"
        while len(recent) > RECENT_LENGTH_MAX:
            oldest, _, recent = recent.partition(";")
            self.reaches = self.first + int(oldest.partition(":")[0])
        self.recent = recent
        return {name: getattr(self, name) for name in _PARTS} | {"touched_at": int(time.time())}


class _Published(NamedTuple):
    """The row of a writer; `said` is empty if the reader knows its number."""

    writer: int
    sequence: int
    said: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The parts of the ledger that may have changed. `everything` overrides the other fields."""

    usage_of: frozenset[int] = frozenset()
    """Ids of providers whose usage or generation changed."""
    providers: frozenset[int] = frozenset()
    """Ids of providers that were created, deleted, or changed in another way."""
    names: bool = False
    """Whether resource classes or traits were created, deleted or renamed."""
    all_usage: bool = False
    everything: bool = False


class News(NamedTuple):
    """The present vector, and the changes since an earlier one."""

    vector: Vector
    changed: Changed


def note(tx: Connection, kind: str, ids: Iterable[int] | None = None) -> None:
    """Add to what this transaction will publish; every write of the ledger calls this.

    `kind` is one of the words above, `ids` are the ids of its providers.
    """
    tx.info[NOTED].update([kind] if ids is None else [f"{kind}{id_}" for id_ in ids])


def publish(tx: Connection, noted: Collection[str], writer: Writer) -> Writer:
    """Write what a transaction changed, as its last statement. Returns the writer to use next.

    No other transaction has the writer until this one has ended. The writer stays usable if this
    fails: its next change then publishes the missing ones too.
    """
    writer.is_new = False
    if not noted:
        return writer
    known = {"key": writer.key, "committed": writer.committed}
    if not _UPDATED.send(tx, writer.add(noted) | known).row_count:
        # The row was never there, was unused for too long, or lacks what the database lost.
        writer = Writer(is_new=True)
        row = {"writer": writer.key, "first": writer.first}
        _INSERTED.send(tx, [row | writer.add(noted)])
    return writer


def clock(tx: Connection) -> int:
    """A number that grows with each published change."""
    return int(_SUM.send(tx).rows[0][0])


def clock_of(vector: Vector) -> int:
    """The clock of the moment of this vector."""
    return sum(number * (writer % _WEIGHTS + 1) for writer, number in vector.items())


def vector(tx: Connection) -> Vector:
    """The latest number of each writer."""
    return dict(_VECTOR.send(tx).rows)


def news(tx: Connection, known: Vector) -> News:
    """The changes published after a vector, read in one statement."""
    # An empty list would send no statement; a reader may know of no writer.
    found = _NEWS.send(tx, {"known": list(known.values()) or [0]}).rows
    rows = [
        _Published(int(writer), int(sequence), said)
        for (text,) in found
        for writer, sequence, said in [parts_of(text, 3)]
    ]
    vector = {row.writer: row.sequence for row in rows}
    moved = [row for row in rows if known.get(row.writer) != row.sequence]
    return News(vector, _changed(known, vector, moved))


def _changed(known: Vector, now: Vector, moved: Iterable[_Published]) -> Changed:
    if any(sequence < known.get(writer, 0) for writer, sequence in now.items()):
        # The database has lost changes: it was restored, or a replica took over.
        return Changed(everything=True)
    words: set[str] = set()
    for row in moved:
        words |= _words(row, known.get(row.writer))
    gone = {_forgotten(writer, known[writer]) for writer in known.keys() - now.keys()}
    # SAFETY: a row that vanished without a notice may have had unread changes.
    if EVERYTHING in words or not gone <= words:
        return Changed(everything=True)
    return Changed(
        usage_of=_ids(words, USAGE_OF),
        providers=_ids(words, PROVIDER),
        names=NAMES in words,
        all_usage=ALL_USAGE in words,
    )


def forget_unused(tx: Connection) -> None:
    """Delete all rows of writers that wrote nothing for an hour; their processes have ended.

    A writer that was idle, and writes again, begins a new row.
    """
    _forget(tx, _UNUSED)


def forget_some_unused(tx: Connection) -> None:
    """Delete so few of them that no reader has to load the whole ledger because of it."""
    _forget(tx, _UNUSED.limit(_FORGOTTEN_MAX))


def _forget(tx: Connection, unused: Select[Any]) -> None:
    found = tx.execute(unused, {"before": int(time.time()) - _SECONDS_UNUSED_MAX}).all()
    for writer, sequence in found:
        # SAFETY: one row at a time, by its key. For several, MariaDB locks every row that it scans,
        # and would wait for each open transaction that has published.
        if _FORGOTTEN_ROW.send(tx, {"key": writer, "known": sequence}).row_count:
            # Readers that know this number of the writer have missed none of its changes.
            note(tx, _forgotten(writer, sequence))


def _forgotten(writer: int, sequence: int) -> str:
    return f"{FORGOTTEN}{writer}={sequence}"


def _words(row: _Published, known: int | None) -> set[str]:
    """The changes in the row of a writer after a number, or after its first for None."""
    if not row.said:
        # Two writers have the same number, which was random at first.
        return {EVERYTHING}
    first, reaches, shaped, recent = parts_of(row.said)
    after = int(first) if known is None else known
    if after < int(reaches):
        return {ALL_USAGE if after >= int(shaped) else EVERYTHING}
    words: set[str] = set()
    # The latest is last.
    for entry in reversed(recent.split(";")[:-1]):
        number, _, said = entry.partition(":")
        if int(first) + int(number) <= after:
            break
        words.update(said.split(" "))
    return words


def _ids(words: Iterable[str], kind: str) -> frozenset[int]:
    return frozenset(int(word[1:]) for word in words if word[0] == kind and word != kind)
