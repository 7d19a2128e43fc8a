# SPDX-License-Identifier: Apache-2.0
"""Which findings are there, confirmed, new and gone, after any rounds."""

from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.page.paging import seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import said
from tests.reconcile.watch.watching import MINUTE, at
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import Audit
from trueup.reconcile.watch import memory as module
from trueup.reconcile.watch.memory import (
    Memory,
    after_counting,
    after_failure,
    after_notifying,
    after_round,
    news_in,
)

RIGHT = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100\n"
SILENT = f"{RIGHT}cell2 silent\n"
EVERY = seen(BROKEN).audit
CELLS = tuple(seen(BROKEN).facts.cells)
OLD = f"orphaned-allocation:{uuid_of('old')}"


def audit_at(minutes: int, *ids: str, silent: bool = False) -> Audit:
    """An audit of that minute with only these findings."""
    like = seen(SILENT if silent else RIGHT).audit
    findings = tuple(row for row in EVERY.findings if row.id in ids)
    return replace(like, taken_at=at(minutes), findings=findings)


def remembered(*audits: Audit, memory: Memory | None = None) -> Memory:
    found = memory or Memory()
    for one in audits:
        found = after_round(found, one, CELLS, 1.0)
    return found


def confirmed(memory: Memory) -> set[str]:
    return {one.id for one in memory.confirmed(MINUTE)}


def test_one_round_confirms_nothing_and_the_next_one_does():
    first = remembered(audit_at(0, OLD))
    assert ({one.id for one in first.sightings}, confirmed(first)) == ({OLD}, set())
    assert confirmed(remembered(audit_at(1, OLD), memory=first)) == {OLD}


def changing(minutes: int, since: datetime | None = None) -> Audit:
    """An audit of that minute; the finding is there, with evidence that no other minute has."""
    whole = audit_at(minutes, OLD)
    [row] = whole.findings
    return replace(whole, findings=(replace(row, evidence={"round": minutes}, since=since),))


def test_a_finding_is_as_old_as_the_first_round_that_had_it_with_any_evidence():
    [one] = remembered(*map(changing, range(5))).sightings
    assert (one.first_seen, one.began) == (at(4), at(0))


def test_a_finding_is_as_old_as_its_own_time_if_that_is_earlier():
    [one] = remembered(changing(1), changing(2, since=at(0))).sightings
    assert one.began == at(0)
    [one] = remembered(changing(1), changing(3, since=at(2))).sightings
    assert one.began == at(1)


def test_a_finding_that_was_gone_is_young_again():
    [one] = remembered(changing(0), audit_at(1), changing(2)).sightings
    assert one.began == at(2)


def test_a_file_of_an_older_release_costs_no_age():
    [old] = remembered(audit_at(0, OLD)).sightings
    kept = Memory(CELLS, (replace(old, since=None, known_since=None),))
    assert kept.sightings[0].began == at(0)
    [one] = remembered(changing(1), changing(2), memory=kept).sightings
    assert one.began == at(0)


def test_two_rounds_that_are_too_close_confirm_nothing():
    first = remembered(audit_at(0, OLD))
    soon = replace(audit_at(0, OLD), taken_at=at(0) + MINUTE / 2)
    assert confirmed(remembered(soon, memory=first)) == set()


def test_a_cloud_that_only_had_time_to_settle_has_the_same_evidence():
    first = audit_at(0, OLD)
    [row] = first.findings
    first = replace(first, findings=(replace(row, may_pass_within=10),))
    assert confirmed(remembered(first, audit_at(1, OLD))) == {OLD}


def test_other_evidence_has_to_be_confirmed_again_and_is_neither_new_nor_gone():
    before = remembered(audit_at(0, OLD), audit_at(1, OLD))
    before = after_notifying(before, news_in(before, MINUTE))
    audit = audit_at(2, OLD)
    changed = replace(audit, findings=(replace(audit.findings[0], where="elsewhere"),))
    after = remembered(changed, memory=before)
    assert confirmed(after) == set()
    assert not news_in(after, MINUTE)
    assert not after.has_new


def test_what_a_round_no_longer_has_is_gone():
    before = remembered(audit_at(0, OLD), audit_at(1, OLD))
    assert remembered(audit_at(2), memory=before).sightings == ()


def test_what_comes_back_has_to_be_confirmed_again():
    assert confirmed(remembered(audit_at(0, OLD), audit_at(1), audit_at(2, OLD))) == set()


def test_a_silent_source_makes_nothing_gone():
    before = remembered(audit_at(0, OLD), audit_at(1, OLD))
    after = remembered(audit_at(2, silent=True), memory=before)
    assert confirmed(after) == {OLD}
    assert after.rounds[-1].state == "incomplete"
    assert not after.has_new


def test_a_subject_that_could_not_be_checked_is_not_gone():
    lost = "cell1\n  host h1 VCPU=8\n  server lost on h9\n"
    unchecked = seen(lost).audit
    [row] = [one for one in unchecked.unchecked if one.subject.uuid == uuid_of("lost")]
    finding = replace(EVERY.findings[0], subject=row.subject)
    before = remembered(replace(audit_at(0), findings=(finding,)))
    after = remembered(replace(unchecked, taken_at=at(1)), memory=before)
    assert [one.id for one in after.sightings] == [finding.id]


def test_what_is_muted_is_no_longer_there():
    muted = seen(BROKEN, said("finding", OLD)).audit
    after = remembered(replace(muted, taken_at=at(2)), memory=remembered(audit_at(0, OLD)))
    assert OLD not in {one.id for one in after.sightings}


def test_a_failed_round_says_nothing_about_findings():
    before = remembered(audit_at(0, OLD))
    after = after_failure(before, at(1), 3.0, "it is down")
    assert after.sightings == before.sightings
    assert (after.rounds[-1].state, after.rounds[-1].reason) == ("failed", "it is down")
    assert not after.has_new
    assert confirmed(remembered(audit_at(2, OLD), memory=after)) == {OLD}


def test_only_a_finding_that_no_round_had_is_new():
    first = remembered(audit_at(0, OLD))
    assert first.has_new
    assert not remembered(audit_at(1, OLD), memory=first).has_new


def test_news_are_told_until_somebody_was_told():
    memory = remembered(audit_at(0, OLD), audit_at(1, OLD))
    news = news_in(memory, MINUTE)
    assert [one.id for one in news.appeared] == [OLD]
    assert news_in(memory, MINUTE) == news
    memory = after_notifying(memory, news)
    assert not news_in(memory, MINUTE)
    gone = news_in(remembered(audit_at(2), memory=memory), MINUTE)
    assert (gone.appeared, gone.gone) == ((), (OLD,))


def test_another_cloud_has_another_memory():
    before = remembered(audit_at(0, OLD))
    after = after_round(before, audit_at(1), ["another-cell"], 1.0)
    assert (after.sightings, len(after.rounds)) == ((), 1)


def test_the_history_stays_small_and_keeps_its_ends(monkeypatch):
    monkeypatch.setattr(module, "ROUNDS_MAX", 20)
    memory = remembered(*(audit_at(minute) for minute in range(200)))
    assert len(memory.rounds) <= 20
    moments = [one.at for one in memory.rounds]
    assert moments == sorted(moments)
    assert (moments[0], moments[-1]) == (at(0), at(199))


IDS = [row.id for row in EVERY.findings]


@given(st.lists(st.tuples(st.sets(st.sampled_from(IDS)), st.booleans()), min_size=1, max_size=12))
def test_the_two_look_rule_holds_for_any_rounds(rounds):
    """The oracle looks at the rounds as a whole, without a memory."""
    memory = remembered(
        *(audit_at(n, *ids, silent=silent) for n, (ids, silent) in enumerate(rounds))
    )
    for one in IDS:
        # From the last round that answered in full without it, it was seen in these.
        clear = max(
            (n for n, (ids, silent) in enumerate(rounds) if not silent and one not in ids),
            default=-1,
        )
        since = [n for n, (ids, _) in enumerate(rounds) if n > clear and one in ids]
        assert (one in {row.id for row in memory.sightings}) == bool(since)
        assert (one in confirmed(memory)) == (len(since) > 1)


@pytest.mark.parametrize("counts", [(), (OLD,)])
def test_a_round_counts_by_severity(counts):
    [ended] = remembered(audit_at(0, *counts)).rounds
    assert sum(ended.counts.values()) == len(counts)
    assert set(ended.counts) == {"critical", "high", "medium", "low"}


def returned(memory: Memory) -> int:
    [sighting] = memory.sightings
    return sighting.returned


def test_what_was_repaired_and_comes_back_is_counted():
    memory = remembered(audit_at(0, OLD), audit_at(1, OLD))
    assert returned(memory) == 0
    memory = remembered(audit_at(2), audit_at(3, OLD), audit_at(4, OLD), memory=memory)
    assert returned(memory) == 1
    memory = remembered(audit_at(5), audit_at(6, OLD), memory=memory)
    assert returned(memory) == 2


def test_what_only_one_round_had_does_not_come_back():
    memory = remembered(audit_at(0, OLD), audit_at(1), audit_at(2, OLD))
    assert returned(memory) == 0


def test_what_a_silent_source_hid_does_not_come_back():
    memory = remembered(audit_at(0, OLD), audit_at(1, OLD), audit_at(2, silent=True))
    assert returned(remembered(audit_at(3, OLD), memory=memory)) == 0


def test_a_return_is_forgotten_after_two_weeks():
    memory = remembered(audit_at(0, OLD), audit_at(1, OLD), audit_at(2))
    later = 3 + int(module.RETURN_AFTER_MAX / MINUTE)
    assert returned(remembered(audit_at(later, OLD), memory=memory)) == 0
    assert memory.gone
    assert not remembered(audit_at(later), memory=memory).gone


def test_of_a_month_a_count_of_every_six_hours_is_kept_and_the_newest():
    memory = Memory()
    for hour in range(40 * 24):
        memory = after_counting(memory, at(60 * hour), {"m1": hour})
    hours = [count.fits["m1"] for count in memory.counts]
    assert hours[-1] == 40 * 24 - 1
    assert hours[0] >= 10 * 24 - 1
    assert {after - before for before, after in pairwise(hours[:-1])} == {6}
    assert 110 < len(hours) < 125
