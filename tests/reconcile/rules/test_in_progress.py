# SPDX-License-Identifier: Apache-2.0
"""What is under way is left alone, until it is too old; the scenarios show the rest."""

import pytest

from tests.scenarios.reading import read_cloud
from trueup.reconcile.rules.in_progress import in_progress
from trueup.reconcile.verdicts import AuditOptions, Unchecked

HOSTS = "cell1\n  host h1 VCPU=8 up\n  host h2 VCPU=8 up\n"
TASK = "  server web on h1 task=spawning changed={}\n"
MOVE = "  server web on h1 changed=5\n  migration of web from h1 to h2 changed={} migrating\n"
BUILD = "build boot age={}\n"


@pytest.mark.parametrize("lines", [TASK, MOVE, BUILD], ids=["task", "migration", "build"])
@pytest.mark.parametrize(("age", "is_stuck"), [(99, False), (100, True)])
def test_an_option_sets_from_when_on_it_could_not_be_checked(lines, age, is_stuck):
    """An instance without a task is changed for other reasons than its migration."""
    facts = read_cloud(HOSTS + lines.format(age)).facts()
    [row] = in_progress(facts, AuditOptions(stuck_seconds=100))
    assert isinstance(row, Unchecked) is is_stuck
    assert bool(row.ends) is is_stuck
