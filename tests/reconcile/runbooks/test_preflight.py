# SPDX-License-Identifier: Apache-2.0
"""One check that blocks is enough."""

from tests.reconcile.planning import planned
from trueup.reconcile.runbooks.preflight import Check, Outlook, Prepared


def test_one_check_blocks_everything():
    fine = Check("service", "h1", "down", Outlook.PLANNED)
    blocking = Check("instance", "web", "on the host", Outlook.BLOCKS)
    assert not Prepared("retire:h1", (fine,), planned()).blocked
    assert Prepared("retire:h1", (fine, blocking), planned()).blocked
