# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import left_with, reason, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import orphaned_allocation

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server old on h1 deleted={}
{}
provider pool DISK_GB=100 sharing
holds old h1 VCPU=2 MEMORY_MB=256
holds old pool DISK_GB=6
"""


@pytest.mark.parametrize(
    ("age", "grace", "orphaned"),
    [(600, 600, True), (599, 600, False), (0, 600, False), (-599, 600, False),
     (-5000, 600, True), (3600, 7200, False), (1, 0, True)],
)  # fmt: skip
def test_nova_compute_is_given_the_grace_on_either_side_of_now(age, grace, orphaned):
    """A time far ahead of ours comes from a clock in another time zone."""
    told = verdicts(orphaned_allocation, CLOUD.format(age, ""), grace)
    assert [hasattr(one, "severity") for one in told] == [orphaned]


def test_all_that_it_and_its_migrations_hold_is_released_shared_storage_too():
    cloud = CLOUD.format(3600, "  resize of old from h1 to h1 error\nholds resize-of-old h1 VCPU=1")
    assert left_with(steps(orphaned_allocation, cloud)) == {
        uuid_of("old"): None, uuid_of("resize-of-old"): None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("  live-migration of old from h1 running", "the status of its live-migration is running"),
        ("build old", "it has a build request"),
        ("cell2 silent", "cell2 did not answer"),
        ("cell2\n  server old on h9 VCPU=1 MEMORY_MB=64", None),
        ("guest old on h1 running", "runs its guest"),
    ],
)
def test_a_deleted_row_is_no_proof_while_anything_else_says_more(more, why):
    told = verdicts(orphaned_allocation, CLOUD.format(3600, more))
    if why is None:
        assert told == [], "it is alive in another cell"
    else:
        assert why in reason(orphaned_allocation, CLOUD.format(3600, more))


def test_one_that_holds_nothing_with_migrations_that_hold_nothing_is_not_spoken_of():
    cloud = CLOUD.replace("holds old h1 VCPU=2 MEMORY_MB=256\nholds old pool DISK_GB=6\n", "")
    moved = cloud.format(3600, "  resize of old from h1 to h1 error")
    assert verdicts(orphaned_allocation, moved) == []
    assert verdicts(orphaned_allocation, moved + "holds resize-of-old h1 VCPU=1\n")


@pytest.mark.parametrize(
    ("age", "words"), [(9, "deleted 9 s ago"), (0, "deleted 0 s ago"), (-9, "9 s ahead of our")]
)
def test_the_reason_says_on_which_side_of_now_it_was_deleted(age, words):
    assert words in reason(orphaned_allocation, CLOUD.format(age, ""))
