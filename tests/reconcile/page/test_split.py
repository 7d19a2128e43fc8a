# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.page.paging import seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import MIXED, said
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import Observation
from trueup.reconcile.page.split import CapacitySplit, capacity_splits, summed
from trueup.reconcile.report.effects import effects_of
from trueup.reconcile.verdicts import Acknowledgement

# Twice its flavor on one host, which has no remedy while it is not known which half is right.
SILENT = "cell1\n  host h1 VCPU=8\ncell2 silent\nholds stranger h1 VCPU=3\n"
UNCHECKED = "cell1\n  host h1 VCPU=8\n  server lost on h9\nholds lost h1 VCPU=2\n"


def split_of(one: Observation, provider: str, resource_class: str) -> CapacitySplit:
    effects = effects_of(one.audit.every_finding, one.facts)
    rows = capacity_splits(one.facts, one.audit, effects)[uuid_of(provider)]
    [found] = [row for row in rows if row.resource_class == resource_class]
    return found


def amounts(split: CapacitySplit) -> tuple[int, int, int, int]:
    return split.right, split.undecided, split.phantom, split.missing


def test_phantom_and_missing_are_what_the_repair_would_release_and_allocate():
    broken = seen(BROKEN)
    # A deleted instance holds 2 there; two others run there, one of 2 and one of 1, and hold none.
    assert amounts(split_of(broken, "h1", "VCPU")) == (0, 0, 2, 3)
    assert amounts(split_of(broken, "h2", "VCPU")) == (0, 0, 1, 0)
    assert split_of(broken, "h1", "MEMORY_MB").capacity == 8192


def test_in_a_cloud_in_order_all_is_held_rightly():
    text = "cell1\n  host h1 VCPU=8 MEMORY_MB=64\n  server web on h1 VCPU=2 MEMORY_MB=32\n"
    right = seen(f"{text}holds web h1 VCPU=2 MEMORY_MB=32\n")
    assert not right.audit.findings
    assert amounts(split_of(right, "h1", "VCPU")) == (2, 0, 0, 0)
    assert split_of(right, "h1", "VCPU").plain


def test_what_is_muted_is_phantom_all_the_same():
    muted = seen(BROKEN, said("finding", f"orphaned-allocation:{uuid_of('old')}"))
    assert muted.audit.muted
    assert split_of(muted, "h1", "VCPU").phantom == 2


@pytest.mark.parametrize(("text", "amount"), [(SILENT, 3), (UNCHECKED, 2)])
def test_what_could_not_be_judged_is_not_called_right(text, amount):
    assert amounts(split_of(seen(text), "h1", "VCPU")) == (0, amount, 0, 0)


@pytest.mark.parametrize("text", [BROKEN, MIXED, SILENT, UNCHECKED])
def test_the_parts_are_all_that_is_held(text):
    one = seen(text)
    found = capacity_splits(one.facts, one.audit, effects_of(one.audit.every_finding, one.facts))
    assert found.keys() == one.facts.providers.keys()
    for uuid, rows in found.items():
        held = {row.resource_class: row.held for row in rows if row.held}
        assert held == {name: n for name, n in one.facts.used.get(uuid, {}).items() if n}
        assert all(amount >= 0 for row in rows for amount in amounts(row))


@given(st.lists(st.tuples(st.sampled_from("AB"), *[st.integers(0, 9)] * 5)))
def test_sums_are_of_each_class(rows):
    splits = [CapacitySplit(*row) for row in rows]
    total = summed(splits)
    assert [one.resource_class for one in total] == sorted({row[0] for row in rows})
    for one in total:
        mine = [row for row in splits if row.resource_class == one.resource_class]
        assert one.held == sum(row.held for row in mine)
        assert one.capacity == sum(row.capacity for row in mine)
        assert one.missing == sum(row.missing for row in mine)


@given(*[st.integers(0, 10**9)] * 5)
def test_a_bar_is_never_longer_than_its_place(capacity, right, undecided, phantom, missing):
    one = CapacitySplit("VCPU", capacity, right, undecided, phantom, missing)
    parts = (right, undecided, phantom, missing)
    # Each part is rounded to a tenth.
    assert sum(map(one.percent, parts)) <= 100.2
    assert all(0 <= one.percent(part) <= 100 for part in parts)


@pytest.mark.parametrize(("held", "words"), [(0, "0%"), (12, "<1%"), (2000, "50%")])
def test_the_little_of_a_large_host_is_not_0_percent(held, words):
    split = CapacitySplit("VCPU", 4000, right=held, undecided=0, phantom=0, missing=0)
    assert split.percent_held == words


def test_acknowledged_hosts_do_not_make_a_decision():
    gone = seen(
        UNCHECKED, Acknowledgement("host-gone", "h9", "sold", seen("").facts.taken_at.date())
    )
    assert split_of(gone, "h1", "VCPU").held == 2
