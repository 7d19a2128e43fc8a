# SPDX-License-Identifier: Apache-2.0
"""A plan in a file: readable, and nobody may change it."""

from dataclasses import replace

import pytest

from tests.reconcile.observing import plan_of
from tests.reconcile.planning import BROKEN, facts_of, planned
from trueup.reconcile.files import FileUnreadable, FileUnwritable
from trueup.reconcile.plan.plan_file import PlanEdited, PlanFormatUnknown, load, save


def test_a_plan_comes_back_from_its_file_as_it_was(tmp_path):
    save(planned(), tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == planned()
    assert load(tmp_path / "plan.json").id == planned().id
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"], "nothing else is left"


def test_saving_again_replaces_the_file(tmp_path):
    path = tmp_path / "plan.json"
    save(planned(), path)
    save(plan_of(facts_of(BROKEN), lambda _: False), path)
    assert load(path).steps == ()


def test_a_plan_can_be_read_by_people(tmp_path):
    save(planned(), tmp_path / "plan.json")
    lines = (tmp_path / "plan.json").read_text().splitlines()
    assert len(lines) > 50
    assert max(map(len, lines)) < 200


def test_a_flipped_bit_in_any_byte_of_the_file_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    save(plan_of(facts_of(BROKEN), lambda one: one.defect == "orphaned-allocation"), path)
    whole = path.read_bytes()
    taken = []
    for place, byte in enumerate(whole):
        path.write_bytes(whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            load(path)
            taken.append(whole[max(0, place - 20) : place + 20])
        except (PlanEdited, FileUnreadable, PlanFormatUnknown):
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


@pytest.mark.parametrize("found", [0, 2])
def test_a_plan_of_another_format_is_refused(tmp_path, found):
    path = tmp_path / "plan.json"
    save(replace(planned(), format=found), path)
    with pytest.raises(PlanFormatUnknown) as refused:
        load(path)
    assert (refused.value.found, refused.value.known) == (found, 1)


def test_a_plan_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileUnwritable) as refused:
        save(planned(), tmp_path / "none" / "plan.json")
    assert refused.value.path == str(tmp_path / "none" / "plan.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileUnwritable):
        save(planned(), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
