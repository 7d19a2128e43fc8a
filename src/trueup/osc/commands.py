# SPDX-License-Identifier: Apache-2.0
"""The commands as OpenStackClient runs them; the entry points in pyproject.toml name them."""

from trueup.cli.commands.apply import ApplyCommand
from trueup.cli.commands.audit import AuditCommand
from trueup.cli.commands.defects import DefectsCommand
from trueup.cli.commands.explain import ExplainCommand
from trueup.cli.commands.ghosts import GhostsCommand
from trueup.cli.commands.journal import JournalCommand
from trueup.cli.commands.ledger import LedgerExportCommand, LedgerImportCommand
from trueup.cli.commands.merge import MergeCommand
from trueup.cli.commands.plan import PlanCommand
from trueup.cli.commands.plan_show import PlanShowCommand
from trueup.cli.commands.rekey import RekeyCommand
from trueup.cli.commands.report import ReportCommand
from trueup.cli.commands.retire import RetireCommand
from trueup.cli.commands.snapshot import SnapshotSaveCommand, SnapshotShowCommand
from trueup.cli.commands.undo import UndoCommand
from trueup.cli.commands.verify import VerifyCommand
from trueup.osc.of_client import OfClient, OfClientsCloud


class Audit(OfClientsCloud, AuditCommand):
    __doc__ = AuditCommand.__doc__


class Explain(OfClientsCloud, ExplainCommand):
    __doc__ = ExplainCommand.__doc__


class Report(OfClientsCloud, ReportCommand):
    __doc__ = ReportCommand.__doc__


class Plan(OfClientsCloud, PlanCommand):
    __doc__ = PlanCommand.__doc__


class PlanShow(OfClient, PlanShowCommand):
    __doc__ = PlanShowCommand.__doc__


class Apply(OfClientsCloud, ApplyCommand):
    __doc__ = ApplyCommand.__doc__


class Verify(OfClientsCloud, VerifyCommand):
    __doc__ = VerifyCommand.__doc__


class Undo(OfClientsCloud, UndoCommand):
    __doc__ = UndoCommand.__doc__


class Journal(OfClient, JournalCommand):
    __doc__ = JournalCommand.__doc__


class SnapshotSave(OfClientsCloud, SnapshotSaveCommand):
    __doc__ = SnapshotSaveCommand.__doc__


class SnapshotShow(OfClient, SnapshotShowCommand):
    __doc__ = SnapshotShowCommand.__doc__


class Defects(OfClient, DefectsCommand):
    __doc__ = DefectsCommand.__doc__


class LedgerExport(OfClientsCloud, LedgerExportCommand):
    __doc__ = LedgerExportCommand.__doc__


class LedgerImport(OfClientsCloud, LedgerImportCommand):
    __doc__ = LedgerImportCommand.__doc__


class Ghosts(OfClientsCloud, GhostsCommand):
    __doc__ = GhostsCommand.__doc__


class Retire(OfClientsCloud, RetireCommand):
    __doc__ = RetireCommand.__doc__


class Rekey(OfClientsCloud, RekeyCommand):
    __doc__ = RekeyCommand.__doc__


class Merge(OfClientsCloud, MergeCommand):
    __doc__ = MergeCommand.__doc__
