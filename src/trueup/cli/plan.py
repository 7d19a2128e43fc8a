# SPDX-License-Identifier: Apache-2.0
"""trueup plan: what would be written, as a file to read and apply."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trueup.cli.audit import add_grace_option, summarize, verdict
from trueup.cli.progress import Report, progress, say, wait
from trueup.cli.sources import FactsVerb, add_from_option, kept_facts, selection
from trueup.reconcile.audit import Audit, SecondLookMissing, audit, load, seen_twice
from trueup.reconcile.collect import collect, with_holdings
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan, make_plan, save
from trueup.reconcile.report.tables import Table, plan_table
from trueup.reconcile.rules import Rules
from trueup.reconcile.sources.cloud import Cloud

# nova-compute's default update_resources_interval: what it repairs by itself is repaired by then.
INTERVAL_SECONDS = 60


class PlanCommand(FactsVerb):
    """Look twice, and plan a guarded step for every finding that both looks have."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_grace_option(parser)
        add_from_option(parser)
        parser.add_argument("--out", metavar="FILE", type=Path, help="write the plan to this file")
        parser.add_argument(
            "--first",
            metavar="FILE",
            type=Path,
            help="take the first look from 'trueup audit --save FILE'",
        )
        parser.add_argument(
            "--interval",
            metavar="SECONDS",
            type=int,
            default=INTERVAL_SECONDS,
            help="time between the two looks (default: %(default)s)",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        second, plan, names = (
            plan_of_snapshot(arguments) if arguments.snapshot else self._plan(arguments)
        )
        summarize(second)
        if arguments.out:
            save(plan, arguments.out)
        _announce(plan, arguments.out)
        self.exit_code = verdict(second, bool(plan.steps))
        return plan_table(plan, names)

    def _plan(self, arguments: argparse.Namespace) -> tuple[Audit, Plan, Mapping[str, str]]:
        rules = Rules(arguments.grace)
        with self.cloud(arguments) as cloud, progress() as report:
            look = Look(cloud, rules, report, selection(arguments))
            first = load(arguments.first) if arguments.first else look.again()[0]
            if first.findings:
                age = datetime.now(UTC).replace(tzinfo=None) - first.taken_at
                wait(arguments.interval - age.total_seconds(), report)
            return plan_after(first, look)


@dataclass(frozen=True, slots=True)
class Look:
    """How a living cloud is looked at, each time in the same way."""

    cloud: Cloud
    rules: Rules
    report: Report
    selection: Selection = EVERYTHING

    def again(self) -> tuple[Audit, Facts]:
        """One look, and the facts it was made from."""
        facts = collect(self.cloud, self.report, self.selection)
        return audit(facts, self.rules), facts


def plan_after(first: Audit, look: Look) -> tuple[Audit, Plan, Mapping[str, str]]:
    """Look again, and plan what both looks found; also the providers' names by uuid."""
    second, facts = look.again()
    findings = seen_twice(first, second)
    facts = with_holdings(facts, look.cloud, [finding.subject for finding in findings])
    return second, make_plan(findings, facts, first.taken_at), facts.provider_names


def plan_of_snapshot(arguments: argparse.Namespace) -> tuple[Audit, Plan, Mapping[str, str]]:
    """Plan what a kept look and a snapshot that was taken later both have.

    Raises SecondLookMissing, and whatever makes either file unusable.
    """
    facts = kept_facts(arguments)
    second = audit(facts, Rules(arguments.grace))
    first = load(arguments.first) if arguments.first else None
    apart = second.taken_at - first.taken_at if first else timedelta()
    if first is None or apart.total_seconds() < arguments.interval:
        # SAFETY: one look cannot tell drift from a move under way, however old it is.
        raise SecondLookMissing(arguments.interval)
    findings = [row for row in seen_twice(first, second) if row.subject in facts.holdings]
    return second, make_plan(findings, facts, first.taken_at), facts.provider_names


def _announce(plan: Plan, path: Path | None) -> None:
    say(f"{len(plan.steps)} steps for {len(plan.findings)} findings.")
    if not plan.steps:
        return
    if len(plan.steps) > plan.steps_max:
        say(f"That is more than the limit of {plan.steps_max}: apply will need --limit.")
    say(f"Next: trueup apply {path}" if path else "Next: trueup plan --out plan.json")
