# SPDX-License-Identifier: Apache-2.0
"""An audit after each class of tests."""

from oslo_log import log
from tempest import config, test

from trueup_tempest_plugin.ledger import Fault, LedgerIsWrong, in_lines
from trueup_tempest_plugin.options import auditor

CONF = config.CONF
LOG = log.getLogger(__name__)


class Audits:
    """Those of one worker: what is known to be wrong, and what is new after a class."""

    def __init__(self) -> None:
        self._known: frozenset[Fault] | None = None

    def before(self) -> None:
        """Before the first class: what is wrong already is no fault of any."""
        if self._known is None:
            self._known, _ = auditor().lasting_faults(frozenset())
            if self._known:
                lines = in_lines(self._known)
                LOG.warning("Wrong before the first class of this worker:\n%s", lines)

    def after(self, name: str) -> None:
        """LedgerIsWrong if something is wrong that was not before; it is told once."""
        new, still = auditor().lasting_faults(self._known or frozenset())
        self._known = still | new
        if new:
            raise LedgerIsWrong(
                f"Wrong after {name}, and not at the audit before. With several workers it may be "
                f"from a class of another one.\n{in_lines(new)}"
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
        # Also a class that is skipped is torn down. It may have servers by then, or none yet.
        began = any(stage == "resources" for stage, _ in cls._teardowns)
        try:
            tear_down(cls)
        finally:
            if CONF.trueup.audit_classes and began:
                audits.after(f"{cls.__module__}.{cls.__qualname__}")

    test.BaseTestCase.setUpClass = classmethod(audited_set_up)
    test.BaseTestCase.tearDownClass = classmethod(audited_tear_down)
