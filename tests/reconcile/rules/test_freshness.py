# SPDX-License-Identifier: Apache-2.0
"""Which cells may be behind; what follows from it is in audits/lagging-cells.txt."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.facts import Coverage, Facts
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.verdicts import AuditOptions


def behind(facts: Facts, **options: frozenset[str]) -> list[str]:
    judged = with_freshness(facts, AuditOptions(**options))
    return [f"{row.source}: {in_words(row.lag)}" for row in judged.coverage.behind]


@pytest.mark.parametrize(("age", "words"), [(61, "1 minute"), (1200, "20 minutes")])
def test_a_cell_in_which_no_service_reports_may_be_behind(age, words):
    facts = facts_of(f"cell1 last-report={age}\n  host h1\ncell2\n")
    assert behind(facts) == [
        f"cell1: no service of the cell has reported for {words}: its database may be a lagging "
        "replica"
    ]


def test_it_makes_the_evidence_incomplete_and_is_its_gap_in_words():
    judged = with_freshness(
        facts_of("cell1 last-report=90\n  host h1\ncell2 silent\n"), AuditOptions()
    )
    assert not judged.coverage.complete
    assert (
        "cell2 did not answer; cell1: no service of the cell has reported for 1 minute"
        in in_words(judged.coverage.gap)
    )


def with_clock(facts: Facts, seconds_ahead: int) -> Facts:
    """The clock of each cell's database is ahead of ours by so many seconds."""
    return replace(facts, clocks_ahead=dict.fromkeys(facts.cells, timedelta(seconds=seconds_ahead)))


@pytest.mark.parametrize("seconds_ahead", [61, 600])
def test_a_clock_of_ours_that_is_behind_hides_no_lag(seconds_ahead):
    facts = with_clock(facts_of("cell1 last-report=0\n  host h1\n"), seconds_ahead)
    [words] = behind(facts)
    assert "may be a lagging replica" in words


@pytest.mark.parametrize(("seconds_ahead", "wrong"), [(-30, False), (-31, True), (-600, True)])
def test_by_a_clock_of_ours_that_is_ahead_no_cell_is_judged(seconds_ahead, wrong):
    facts = with_clock(facts_of("cell1 last-report=0\n  host h1\n"), seconds_ahead)
    assert bool(behind(facts)) is wrong
    for words in behind(facts):
        assert words.startswith("cell1: the clock of this machine is ")


@pytest.mark.parametrize("age", [-30, 0, 60])
def test_a_cell_with_a_fresh_report_is_not_behind(age):
    assert behind(facts_of(f"cell1 last-report={age}\n  host h1\n")) == []


def test_nova_says_how_long_a_service_may_be_silent():
    facts = facts_of("cell1 last-report=90\n  host h1 VCPU=8\n")
    services = tuple(replace(row, down_after=timedelta(seconds=180)) for row in facts.services)
    assert behind(replace(facts, services=services)) == []


def test_an_operator_may_allow_a_cell_to_be_behind():
    facts = facts_of("cell1 last-report=90\n  host h1\ncell2 last-report=90\n  host h2\n")
    [other] = behind(facts, cells_allowed_behind=frozenset({"cell1"}))
    assert other.startswith("cell2")


def test_a_cell_without_hosts_is_not_judged():
    assert behind(facts_of("cell0 last-report=9999\n")) == []


NEVER = "cell1 last-report=never\n  host h1\ncell2\n  host h2\n"


def test_a_cell_with_hosts_in_which_no_service_ever_reported_may_be_behind():
    assert behind(facts_of(NEVER)) == [
        "cell1: no service of the cell has ever reported: its database may be a lagging replica"
    ]


def test_an_operator_may_allow_a_cell_in_which_no_service_ever_reported():
    assert behind(facts_of(NEVER), cells_allowed_behind=frozenset({"cell1"})) == []


@pytest.mark.parametrize("cloud", ["cell0 last-report=never\n", NEVER + "forget h1\n"])
def test_a_cell_without_hosts_needs_no_report(cloud):
    assert behind(facts_of(cloud)) == []


def test_over_novas_api_no_report_is_known_and_no_cell_is_judged_by_it():
    facts = facts_of(NEVER)
    sources = (replace(one, read_via="API") for one in facts.coverage.sources)
    assert behind(replace(facts, coverage=Coverage(tuple(sources)))) == []
