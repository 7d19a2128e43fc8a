# SPDX-License-Identifier: Apache-2.0
"""The ledger as it is now."""

from tempest import test
from tempest.lib import decorators

from trueup_tempest_plugin.ledger import in_lines
from trueup_tempest_plugin.options import auditor


class LedgerTest(test.BaseTestCase):
    """What Placement holds is what Nova's servers, migrations and ports should hold."""

    @decorators.idempotent_id("5f6d8b1c-7f0e-4f0b-9c0e-3a1d0a0b7c55")
    def test_nothing_is_wrong(self) -> None:
        """Trueup finds nothing, and could judge everything."""
        wrong, _ = auditor().lasting_faults(frozenset())
        assert not wrong, in_lines(wrong)
