# SPDX-License-Identifier: Apache-2.0
"""An audit after each class of tests."""

import sys
import unittest

from oslo_log import log
from tempest import config, test

from trueup_tempest_plugin.ledger import Fault, LedgerIsWrong, lasting_faults

CONF = config.CONF
LOG = log.getLogger(__name__)


class Audits:
    """Those of one worker: what is known to be wrong, and what is new after a class."""

    def __init__(self) -> None:
        self._known: frozenset[Fault] | None = None

    def before(self) -> None:
        """Before the first class: what is wrong already is no fault of any."""
        if self._known is None:
            self._known = lasting_faults(frozenset())
            for one in sorted(map(str, self._known)):
                LOG.warning("Wrong before the first class of this worker: %s", one)

    def after(self, name: str) -> None:
        """LedgerIsWrong if something is wrong that was not before; it is told once."""
        known = self._known or frozenset()
        new = lasting_faults(known)
        self._known = known | new
        if new:
            told = "\n".join(sorted(map(str, new)))
            raise LedgerIsWrong(
                f"Wrong after {name}, and right before it. With several workers it may be from a "
                f"class of another one.\n{told}"
            )


def audit_each() -> None:
    """Let every class of Tempest's end with an audit. Tempest has no door for that."""
    audits = Audits()
    set_up = test.BaseTestCase.setUpClass.__func__
    tear_down = test.BaseTestCase.tearDownClass.__func__

    def audited_set_up(cls: type[test.BaseTestCase]) -> None:
        if CONF.trueup.audit_classes:
            audits.before()
        set_up(cls)

    def audited_tear_down(cls: type[test.BaseTestCase]) -> None:
        # A class that is skipped is torn down while its exception is on the way.
        skipped = isinstance(sys.exc_info()[1], unittest.SkipTest)
        try:
            tear_down(cls)
        finally:
            if CONF.trueup.audit_classes and not skipped:
                audits.after(f"{cls.__module__}.{cls.__qualname__}")

    test.BaseTestCase.setUpClass = classmethod(audited_set_up)
    test.BaseTestCase.tearDownClass = classmethod(audited_tear_down)
