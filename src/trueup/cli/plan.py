# SPDX-License-Identifier: Apache-2.0
"""trueup plan: what would be written, as a file to read and apply."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from trueup.cli.audit import add_grace_option, summarize, verdict
from trueup.cli.progress import Report, progress, say, wait
from trueup.cli.verb import CloudVerb
from trueup.reconcile.audit import Audit, audit, load, seen_twice
from trueup.reconcile.cloud import Cloud
from trueup.reconcile.collect import collect, with_holdings
from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan, make_plan, save
from trueup.reconcile.report.tables import Table, plan_table
from trueup.reconcile.rules import Rules

# nova-compute's default update_resources_interval: what it repairs by itself is repaired by then.
INTERVAL_SECONDS = 60


class PlanCommand(CloudVerb):
    """Look twice, and plan a guarded step for every finding that both looks have."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_grace_option(parser)
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
        rules = Rules(arguments.grace)
        with self.cloud(arguments) as cloud, progress() as report:
            first = load(arguments.first) if arguments.first else look(cloud, rules, report)[0]
            if first.findings:
                age = datetime.now(UTC).replace(tzinfo=None) - first.taken_at
                wait(arguments.interval - age.total_seconds(), report)
            second, plan, names = plan_after(first, cloud, rules, report)
        summarize(second)
        if arguments.out:
            save(plan, arguments.out)
        _announce(plan, arguments.out)
        self.exit_code = verdict(second, bool(plan.steps))
        return plan_table(plan, names)


def look(cloud: Cloud, rules: Rules, report: Report) -> tuple[Audit, Facts]:
    """One look at a cloud, and the facts it was made from."""
    facts = collect(cloud, report)
    return audit(facts, rules), facts


def plan_after(
    first: Audit, cloud: Cloud, rules: Rules, report: Report
) -> tuple[Audit, Plan, Mapping[str, str]]:
    """Look again, and plan what both looks found; also the providers' names by uuid."""
    second, facts = look(cloud, rules, report)
    findings = seen_twice(first, second)
    facts = with_holdings(facts, cloud, [finding.subject for finding in findings])
    names = {uuid: provider.name for uuid, provider in facts.providers.items()}
    return second, make_plan(findings, facts, first.taken_at), names


def _announce(plan: Plan, path: Path | None) -> None:
    say(f"{len(plan.steps)} steps for {len(plan.findings)} findings.")
    if not plan.steps:
        return
    if len(plan.steps) > plan.steps_max:
        say(f"That is more than the limit of {plan.steps_max}: apply will need --limit.")
    say(f"Next: trueup apply {path}" if path else "Next: trueup plan --out plan.json")
