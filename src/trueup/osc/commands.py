# SPDX-License-Identifier: Apache-2.0
"""The commands as OpenStackClient runs them; the entry points in pyproject.toml name them."""

from trueup.cli.apply import ApplyCommand
from trueup.cli.audit import AuditCommand
from trueup.cli.defects import DefectsCommand
from trueup.cli.explain import ExplainCommand
from trueup.cli.journal import JournalCommand
from trueup.cli.ledger import LedgerExportCommand, LedgerImportCommand
from trueup.cli.plan import PlanCommand
from trueup.cli.plan_show import PlanShowCommand
from trueup.cli.report import ReportCommand
from trueup.cli.runbooks.ghosts import GhostsCommand
from trueup.cli.runbooks.merge import MergeCommand
from trueup.cli.runbooks.rekey import RekeyCommand
from trueup.cli.runbooks.retire import RetireCommand
from trueup.cli.snapshot import SnapshotSaveCommand, SnapshotShowCommand
from trueup.cli.undo import UndoCommand
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
