# SPDX-License-Identifier: Apache-2.0
"""trueup plan: what would be written, as a file to read and apply."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from trueup.cli.judging import add_audit_options, audit_options, summarize, verdict
from trueup.cli.outcomes import (
    add_interval_option,
    add_only_options,
    add_policy_option,
    only_of,
    tell_plan,
)
from trueup.cli.sources import FactsVerb, add_from_option, kept_facts, selection
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.progress import progress, say, wait
from trueup.reconcile.audit import Audit, FirstObservationMissing, refuse_interval
from trueup.reconcile.audit.audit_file import load
from trueup.reconcile.collect.selection import refuse_empty
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.plan import narrowed
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.plan.policy_file import InForce, in_force
from trueup.reconcile.plan.rulings import obeying, persons_needed
from trueup.reconcile.report.tables import PLAN_COLUMNS, Table, plan_table
from trueup.reconcile.runs import Observer, Planned, plan, plan_of_facts
from trueup.reconcile.wording import counted


class PlanCommand(FactsVerb):
    """Observe twice, and plan a guarded step for every finding that both observations have."""

    COLUMNS = PLAN_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
        add_from_option(parser)
        parser.add_argument("--out", metavar="FILE", type=Path, help="write the plan to this file")
        parser.add_argument(
            "--first",
            metavar="FILE",
            type=Path,
            help="take the first observation from 'trueup audit --save FILE'",
        )
        add_interval_option(parser)
        add_only_options(parser)
        add_policy_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        interval = timedelta(seconds=arguments.interval)
        refuse_interval(interval)
        if arguments.out:
            refuse_unwritable(arguments.out)
        policies = in_force(arguments.policy)
        first = load(arguments.first) if arguments.first else None
        planned = (
            _plan_of_snapshot(arguments, first, interval)
            if arguments.snapshot
            else self._plan(arguments, first, interval)
        )
        made = narrowed(planned.plan, only_of(arguments))
        planned = replace(planned, plan=obeying(made, policies))
        summarize(planned.second.audit)
        refuse_empty(planned.second.facts, selection(arguments))
        if arguments.out:
            save(planned.plan, arguments.out)
        _warn_of_short(interval, planned)
        _tell_unconfirmed(planned)
        _announce(planned, policies, arguments)
        self.exit_code = verdict(planned.second.audit, bool(planned.plan.steps))
        return plan_table(planned.plan)

    def _plan(
        self, arguments: argparse.Namespace, first: Audit | None, interval: timedelta
    ) -> Planned:
        with self.cloud(arguments) as cloud, progress() as report:
            options = audit_options(arguments)
            observer = Observer(cloud, options, report, selection(arguments))
            first = first or observer.observe().audit
            return plan(observer, first, interval, lambda seconds: wait(seconds, report))


def _plan_of_snapshot(
    arguments: argparse.Namespace, first: Audit | None, interval: timedelta
) -> Planned:
    """Plan what a kept audit and a snapshot that was taken later both have.

    Raises FirstObservationMissing, and whatever makes the snapshot unusable.
    """
    if first is None:
        raise FirstObservationMissing(arguments.interval)
    facts, options = kept_facts(arguments), audit_options(arguments)
    return plan_of_facts(facts, first, interval, options, selection(arguments))


def _warn_of_short(interval: timedelta, planned: Planned) -> None:
    """Say what a short interval cannot show, where Nova's databases were read."""
    facts = planned.second.facts
    down_after = facts.service_down_time
    if planned.plan.steps and facts.heartbeats and interval < down_after:
        say(
            f"The observations may be only {interval.total_seconds():g} s apart, and Nova's "
            f"service_down_time is {down_after.total_seconds():g} s: a database replica that "
            "stopped less than that ago cannot be told from one that is up to date."
        )


def _tell_unconfirmed(planned: Planned) -> None:
    """Say how many findings of the second observation the first one does not have."""
    known = {row.id for row in planned.plan.findings}
    known |= {declined.finding.id for declined in planned.plan.declined}
    new = [row for row in planned.second.audit.findings if row.id not in known]
    if new:
        say(
            f"{counted(len(new), 'finding')} without a step: the first observation does not have "
            "the same. Plan again; both observations must be of one cloud, read in the same way."
        )


def _announce(planned: Planned, policies: Sequence[InForce], arguments: argparse.Namespace) -> None:
    plan, path = planned.plan, arguments.out
    tell_plan(planned)
    if not plan.steps:
        return
    if len(plan.subjects) > plan.limit:
        say(f"That is more than the limit of {plan.limit}: apply will need --limit.")
    if path and (persons := persons_needed(policies, plan.rulings.values())):
        approve = complete(f"trueup approve {shlex.quote(str(path))} --key FILE")
        say(f"First, the approval of {counted(persons, 'other person')}: {approve}")
    after = f"trueup apply {shlex.quote(str(path))}" if path else "trueup plan --out plan.json"
    say(f"Next: {complete(after)}")
