# SPDX-License-Identifier: Apache-2.0
"""trueup quota: what projects may use, what is counted, and what their instances amount to."""

import argparse
from collections.abc import Mapping
from typing import Any

from trueup.cli.documents import DocumentVerb
from trueup.cli.judging import default_options, summarize, verdict
from trueup.cli.terminal.options import OptionRefused, nova_conf_of
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.reconcile.collect.selection import not_found
from trueup.reconcile.facts import OWNERS, Quotas
from trueup.reconcile.report.quota_table import QUOTA_COLUMNS, quota_document, quota_table
from trueup.reconcile.report.quotas import QuotaRow, projects_of, quota_rows, telling, unregistered
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.connect import read_quotas
from trueup.reconcile.wording import counted


class QuotaCommand(DocumentVerb, CloudVerb):
    """Show whose quota is wrong: limits, what Nova and Placement count, and what a repair changes.

    It reads [quota] and [oslo_limit] of nova.conf, and writes nothing.
    """

    _shown: tuple[QuotaRow, ...]
    _quotas: Quotas
    _unregistered: tuple[str, ...]
    _complete: bool

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--project",
            dest="projects",
            metavar="ID",
            action="append",
            default=[],
            help="only this project; may be given several times",
        )
        parser.add_argument(
            "--all", action="store_true", help="also show what is counted as it should be"
        )
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        for option, given in (
            ("--nova-api", arguments.nova_api),
            ("--nova-database", arguments.nova_database),
        ):
            if given:
                raise OptionRefused(option, "nova.conf says how Nova counts; name it instead")

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return QUOTA_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        quotas = read_quotas(nova_conf_of(arguments.nova_conf))
        asked = frozenset(arguments.projects)
        with self.cloud(arguments) as cloud, progress() as report:
            seen = Observer(cloud, default_options(), report).observe()
            facts, usages = seen.facts, None
            known = projects_of(facts, quotas)
            for project in sorted(asked - known):
                raise not_found("project", project, known, facts)
            if not facts.has(OWNERS):
                usages = cloud.placement.usages(asked or known)
        rows = quota_rows(facts, seen.audit.findings, quotas, usages, asked)
        self._shown = tuple(row for row in rows if arguments.all or telling(row, quotas))
        self._quotas, self._complete = quotas, not seen.audit.incomplete
        self._unregistered = unregistered(rows, quotas)
        summarize(seen.audit)
        self._tell(len(rows) - len(self._shown))
        unusable = quotas.rules.unified and quotas.unified and not quotas.unified.usable
        wrong = unusable or self._unregistered or any(row.wrong for row in self._shown)
        self.exit_code = verdict(seen.audit, bool(wrong))
        return quota_table(self._shown)

    def _tell(self, hidden: int) -> None:
        rules = self._quotas.rules
        whose = "Keystone's unified limits" if rules.unified else "its own quotas"
        by_placement = rules.unified or rules.from_placement
        what = "what Placement counts" if by_placement else "the instances in its cells"
        say(f"Nova uses {whose}, and compares them with {what}.")
        if self._quotas.unified is None:
            say("Keystone's limits were not read: nova.conf has no account in [oslo_limit].")
        elif not self._quotas.unified.usable:
            say(
                f"Keystone's enforcement model is {self._quotas.unified.model}: with unified "
                "limits, Nova fails for every request, because oslo.limit has only flat."
            )
        for resource in self._unregistered:
            words = "refuses it" if rules.refuses(resource) else "does not limit it"
            say(f"{resource} has no registered limit: with unified limits, Nova {words}.")
        if hidden:
            why = "all is as it should be" if self._complete else "what was read is as it should be"
            say(f"Not shown, since {why}: {counted(hidden, 'limit')} (--all).")

    def document(self) -> Mapping[str, Any]:
        return quota_document(self._shown, self._quotas, self._unregistered, self._complete)
