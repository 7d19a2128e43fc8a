# SPDX-License-Identifier: Apache-2.0
"""Plans: what they are made of, in which order, and a file that nobody may change."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.planning import BROKEN, audited, facts_of, planned
from tests.scenarios.drafting import NOW, OWNER, uuid_of
from trueup.reconcile.facts import Allocations, Holding
from trueup.reconcile.plan import (
    LimitExceeded,
    Plan,
    PlanEdited,
    PlanForeign,
    PlanStale,
    PlanUnreadable,
    PlanUnwritable,
    in_reverse,
    load,
    make_plan,
    refuse_foreign,
    refuse_too_large,
    refuse_unfit,
    save,
)

HOUR = timedelta(hours=1)


def consumers(plan: Plan) -> list[str]:
    return [step.consumer for step in plan.steps]


def test_a_plan_says_what_it_was_made_from():
    plan = planned()
    assert plan.findings == audited(BROKEN).findings
    assert (plan.made_at, plan.first_look_at) == (NOW, NOW)
    assert plan.cells == (uuid_of("cell1"),)
    assert plan.consumers == 2
    assert {reason for step in plan.steps for reason in step.because} == {
        one.id for one in plan.findings
    }


def test_what_releases_comes_before_what_needs_room():
    steps = planned().steps
    assert steps[0].consumer == uuid_of("old")
    assert [bool(step.guard.provider_generations) for step in steps] == [False, True, True]
    assert consumers(planned())[1:] == sorted([uuid_of("web"), uuid_of("db")])


def test_a_consumer_that_changed_since_the_second_look_gets_no_step():
    facts = facts_of(BROKEN)
    other = Holding(Allocations({uuid_of("h1"): {"VCPU": 9}}, **OWNER), 2)
    moved = replace(facts, holdings={**facts.holdings, uuid_of("old"): other})
    plan = make_plan(audited(BROKEN).findings, moved, NOW)
    assert uuid_of("old") not in consumers(plan)
    assert len(plan.steps) == len(plan.findings) == 2


def test_a_missing_one_that_holds_something_by_now_gets_no_step():
    facts = facts_of(BROKEN)
    filled = Holding(Allocations({uuid_of("h1"): {"VCPU": 2}}, **OWNER), 1)
    moved = replace(facts, holdings={**facts.holdings, uuid_of("web"): filled})
    assert uuid_of("web") not in consumers(make_plan(audited(BROKEN).findings, moved, NOW))


def test_of_two_findings_about_one_consumer_the_first_decides():
    facts = facts_of(BROKEN)
    [orphan, _, _] = audited(BROKEN).findings
    same = replace(orphan, evidence={"another": "look"})
    plan = make_plan([orphan, same], facts, NOW)
    assert plan.findings == (orphan,)
    assert len(plan.steps) == 1


def test_no_finding_gives_an_empty_plan():
    plan = make_plan([], facts_of(BROKEN), NOW)
    assert plan.steps == plan.findings == ()


def test_a_plan_has_the_name_of_its_content():
    plan = planned()
    assert plan.id == planned().id
    assert plan.id.startswith("20261121T120000-")
    assert len({plan.id, replace(plan, consumers=3).id, replace(plan, steps=()).id}) == 3


def test_a_plan_comes_back_from_its_file_as_it_was(tmp_path):
    save(planned(), tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == planned()
    assert load(tmp_path / "plan.json").id == planned().id
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"], "nothing else is left"


def test_saving_again_replaces_the_file(tmp_path):
    path = tmp_path / "plan.json"
    save(planned(), path)
    save(make_plan([], facts_of(BROKEN), NOW), path)
    assert load(path).steps == ()


def test_a_plan_can_be_read_by_people(tmp_path):
    save(planned(), tmp_path / "plan.json")
    lines = (tmp_path / "plan.json").read_text().splitlines()
    assert len(lines) > 50
    assert max(map(len, lines)) < 200


def test_an_inverse_plan_names_what_it_undoes(tmp_path):
    plan = planned()
    inverse = in_reverse(plan, reversed(plan.steps))
    assert inverse.undoes == plan.id
    assert inverse.id != plan.id
    assert (inverse.cells, inverse.consumers) == (plan.cells, plan.consumers)
    save(inverse, tmp_path / "undo.json")
    assert load(tmp_path / "undo.json") == inverse


def test_a_flipped_bit_in_any_byte_of_the_file_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    save(make_plan(audited(BROKEN).findings[:1], facts_of(BROKEN), NOW), path)
    whole = path.read_bytes()
    taken = []
    for place, byte in enumerate(whole):
        path.write_bytes(whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            load(path)
            taken.append(whole[max(0, place - 20) : place + 20])
        except (PlanEdited, PlanUnreadable):
            continue
    assert taken == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"undoes": null,', ""),
        ('"undoes": null,', '"undoes": null, "added": 1,'),
        ('"consumer_type": null', '"consumer_type": "INSTANCE"'),
        ('"digest": "', '"digest": "0'),
    ],
)
def test_an_edited_plan_is_refused(tmp_path, old, new):
    path = tmp_path / "plan.json"
    save(planned(), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(PlanEdited) as refused:
        load(path)
    assert refused.value.path == str(path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"nonsense", b'{"digest": "x", "plan": {}}', b"\xff"]
)
def test_what_is_no_plan_is_refused_by_name(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(PlanUnreadable) as refused:
        load(path)
    assert refused.value.path == str(path)
    assert "it is not a plan" in refused.value.reason


def test_a_plan_of_another_format_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    save(replace(planned(), format=2), path)
    with pytest.raises(PlanUnreadable) as refused:
        load(path)
    assert refused.value.reason == "its format is 2, this Trueup reads 1"


def test_a_plan_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(PlanUnwritable) as refused:
        save(planned(), tmp_path / "none" / "plan.json")
    assert refused.value.path == str(tmp_path / "none" / "plan.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(PlanUnwritable):
        save(planned(), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(("hours", "stale"), [(0, False), (1, False), (2, True)])
def test_a_plan_may_be_so_old_and_no_older(hours, stale):
    plan = planned()
    now = plan.made_at + timedelta(hours=hours)
    if not stale:
        refuse_unfit(plan, plan.cells, now, HOUR)
        return
    with pytest.raises(PlanStale) as refused:
        refuse_unfit(plan, plan.cells, now, HOUR)
    assert (refused.value.age, refused.value.age_max) == (2 * HOUR, HOUR)


@pytest.mark.parametrize("found", [(), ("another",), (uuid_of("cell1"), "another")])
def test_a_plan_for_other_cells_is_refused(found):
    plan = planned()
    with pytest.raises(PlanForeign) as refused:
        refuse_foreign(plan, found)
    assert refused.value.planned == (uuid_of("cell1"),)
    assert refused.value.found == tuple(sorted(found))
    with pytest.raises(PlanForeign):
        refuse_unfit(plan, found, plan.made_at, HOUR)


def test_cells_may_come_in_any_order():
    plan = replace(planned(), cells=("a", "b"))
    refuse_foreign(plan, ["b", "a"])


@pytest.mark.parametrize(
    ("in_cloud", "steps_max"), [(0, 25), (2500, 25), (2600, 26), (100_000, 1000)]
)
def test_invariant_14_the_limit_is_25_steps_or_1_percent_of_consumers(in_cloud, steps_max):
    [step, *_] = planned().steps
    plan = replace(planned(), consumers=in_cloud, steps=(step,) * steps_max)
    assert plan.steps_max == steps_max
    refuse_too_large(plan, None)
    with pytest.raises(LimitExceeded) as refused:
        refuse_too_large(replace(plan, steps=(step,) * (steps_max + 1)), None)
    assert (refused.value.steps, refused.value.limit) == (steps_max + 1, steps_max)


def test_invariant_14_a_limit_by_name_raises_and_lowers_it():
    [step, *_] = planned().steps
    plan = replace(planned(), steps=(step,) * 30)
    refuse_too_large(plan, 30)
    with pytest.raises(LimitExceeded):
        refuse_too_large(plan, 29)
    with pytest.raises(LimitExceeded):
        refuse_too_large(planned(), 0)
