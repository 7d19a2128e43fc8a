# SPDX-License-Identifier: Apache-2.0
from datetime import timedelta

import pytest

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.scenarios.drafting import NOW
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import build_request_left

CLOUD = "cell1\n  host h1 VCPU=8\n  server web on h1 {} VCPU=1 MEMORY_MB=64\nbuild web age={}\n"


@pytest.mark.parametrize(("age", "left"), [(0, False), (599, False), (600, True), (86400, True)])
def test_a_boot_is_given_the_grace(age, left):
    assert bool(verdicts(build_request_left, CLOUD.format("", age))) is left


@pytest.mark.parametrize("state", ["task=spawning", "state=building"])
def test_a_boot_that_takes_long_is_no_finding(state):
    assert verdicts(build_request_left, CLOUD.format(state, 86400)) == []


def test_it_is_as_old_as_the_request():
    assert found(build_request_left, CLOUD.format("", 3600)).since == NOW - timedelta(hours=1)


def test_the_row_to_delete_is_named():
    assert uuid_of("web") in declined(build_request_left, CLOUD.format("", 3600))


def test_it_is_shown_at_its_host():
    assert found(build_request_left, CLOUD.format("", 3600)).where == "h1"
