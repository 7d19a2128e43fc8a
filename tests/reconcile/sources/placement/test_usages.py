# SPDX-License-Identifier: Apache-2.0
"""Usages that no listed allocation explains: on both Placements, and while allocations change."""

from contextlib import closing
from typing import Any

import pytest

from trueup.lab.nova.databases import sqlite_url
from trueup.reconcile.facts import LedgerFault
from trueup.reconcile.sources.placement.database import PlacementDatabase
from trueup.reconcile.sources.placement.usages import unlisted

P = "/resource_providers/p"


def documents(generation: int, listed: int, used: int, at: int | None = None) -> dict[str, Any]:
    """What Placement returns, with its allocations and usages; `at`: usages are of that one."""
    held = {"a": {"resources": {"VCPU": listed}}} if listed else {}
    return {
        f"{P}/allocations": {"allocations": held, "resource_provider_generation": generation},
        f"{P}/usages": {"usages": {"VCPU": used, "MEMORY_MB": 0},
                        "resource_provider_generation": at or generation},
    }  # fmt: skip


def fault(amount: int) -> LedgerFault:
    what = "usage that no listed allocation explains"
    return LedgerFault("consumerless", "p", what, "VCPU", amount)


@pytest.mark.parametrize(
    ("listed", "used", "hidden"),
    [(2, 2, ()), (2, 5, (fault(3),)), (0, 1, (fault(1),)), (0, 0, ()), (4, 2, ())],
)
def test_only_usage_beyond_what_is_listed_is_a_fault(listed, used, hidden):
    """Less is used than listed if a consumer was deleted between the two requests."""
    assert unlisted("p", documents(7, listed, used).get) == hidden


def test_a_claim_between_the_two_requests_is_read_again():
    answers = [documents(7, listed=2, used=3, at=8), documents(8, listed=3, used=3)]
    asked: list[str] = []

    def found(path: str) -> Any:
        asked.append(path)
        return answers[(len(asked) - 1) // 2][path]

    assert unlisted("p", found) == ()
    assert asked == [f"{P}/allocations", f"{P}/usages"] * 2


def test_allocations_that_were_read_already_are_not_read_again():
    known = documents(7, listed=2, used=5)
    asked = {f"{P}/usages": known[f"{P}/usages"]}
    assert unlisted("p", asked.get, known[f"{P}/allocations"]) == (fault(3),)


def test_while_allocations_are_written_all_the_time_nothing_is_said():
    assert unlisted("p", documents(7, listed=2, used=5, at=8).get) == ()


@pytest.mark.parametrize("gone", ["allocations", "usages"])
def test_a_provider_that_goes_while_it_is_read_has_no_fault(gone):
    known = documents(7, listed=2, used=5)
    del known[f"{P}/{gone}"]
    assert unlisted("p", known.get) == ()


WITHOUT_CONSUMER = "DELETE FROM consumers WHERE uuid = ?"
# As somebody inserts a row by hand: Placement lists one of the two, and both count as usage.
IN_TWO_ROWS = (
    "INSERT INTO allocations (created_at, resource_provider_id, consumer_id, resource_class_id,"
    " used) SELECT created_at, resource_provider_id, consumer_id, resource_class_id, used"
    " FROM allocations WHERE consumer_id = ?"
)


@pytest.mark.parametrize("harm", [WITHOUT_CONSUMER, IN_TWO_ROWS], ids=["consumer", "rows"])
def test_on_a_real_placement_usage_that_no_listed_allocation_explains_is_found(on_both, harm):
    """Upstream's is read over the API; of ours, parts are read so, and the whole as an export."""
    placement = on_both.cloud.placement
    before = placement.ledger(lambda *_: None)
    assert before.faults == ()
    consumer, held = next(iter(sorted(before.consumers.items())))
    on_both.sql("placement", harm, consumer)
    expected = {
        (provider, name, amount)
        for provider, amounts in held.items()
        for name, amount in amounts.items()
    }
    few = placement.lookup(0, 0, lambda *_: None)
    read = PlacementDatabase(sqlite_url(on_both.folder / "placement.sqlite"))
    with closing(read) as database:
        told = (
            few.faults(before.providers), placement.ledger(lambda *_: None).faults,
            database.ledger().faults,
        )  # fmt: skip
    for faults in told:
        assert {(row.subject, row.resource_class, row.amount) for row in faults} == expected
        assert {row.kind for row in faults} == {"consumerless"}
