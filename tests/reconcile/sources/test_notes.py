# SPDX-License-Identifier: Apache-2.0
"""Notes of what could not be read: named up to a limit, counted beyond it."""

from trueup.reconcile.facts import Unread, Unsupported
from trueup.reconcile.sources.notes import UNREAD_NAMED_MAX, Noted, Notes


def test_the_first_ones_are_named_and_all_are_counted():
    notes = Notes()
    for number in range(UNREAD_NAMED_MAX + 5):
        notes.add("instances", number, "uuid", "it is none")
    reported = notes.so_far(())
    assert len(reported.unread) == UNREAD_NAMED_MAX
    assert (reported.unread_rows, reported.lost_rows) == (UNREAD_NAMED_MAX + 5, 0)


def test_two_answers_of_one_source_are_one():
    row, unsupported = Unread("t", "1", "c", "r"), Unsupported("t.d", "too old")
    first, second = Noted((row,), 1, 0, (unsupported,)), Noted((row,), 1, 1, (unsupported,))
    assert first.and_also(second) == Noted((row,), 2, 1, (unsupported,))
