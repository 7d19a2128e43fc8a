# SPDX-License-Identifier: Apache-2.0
"""trueup demo: the main job, on a small embedded cloud with drift planted in it."""

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from trueup import lab
from trueup.cli.driving import Driver
from trueup.cli.terminal.progress import progress, wait
from trueup.cli.verb import Verb
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.plan import Plan
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.report.tables import Cell, Table, plan_table
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.runs import Observer, plan
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import AuditOptions

SEED = 7
TOTALS_COLUMNS = ("Defect", "Planted", "Found", "Repaired", "Left")
# Nobody but the demo writes to its cloud: no move can be under way.
INTERVAL = timedelta(milliseconds=1)

NEXT = """\
What to type next, on a controller of your own cloud (only apply and undo write):

  trueup audit                       what is wrong, with evidence
  trueup plan --out plan.json        look twice, and plan a guarded step for each finding
  trueup apply plan.json             write it, step by step, with a journal
  trueup undo RUN                    take it back
"""


class DemoCommand(Verb):
    """Plant drift in a small embedded cloud, find it, plan, repair and audit again."""

    COLUMNS = TOTALS_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--seed",
            type=int,
            default=SEED,
            help="another seed, another cloud (default: %(default)s)",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        # The story is for people; with -f json it leaves standard output to the table.
        story = Console(stderr=arguments.formatter != "table", highlight=False, soft_wrap=True)
        with tempfile.TemporaryDirectory(prefix="trueup-demo-") as folder:
            place = Path(folder)
            with lab.small_cloud(place / "cloud", seed=arguments.seed) as small:
                planted = small.plant()
                story.print(_opening(small, len(planted)))
                cloud = from_nova_conf(small.nova_conf)
                show = _Show(cloud, place, story)
                before, repaired, after = show.play()
                cloud.close()
        story.print(NEXT, style="dim")
        if after.findings:
            self.exit_code = ExitCode.FINDINGS
        return _totals(planted, before, repaired, after)


@dataclass(frozen=True, slots=True)
class _Show:
    cloud: Cloud
    place: Path
    story: Console

    def play(self) -> tuple[Audit, tuple[Step, ...], Audit]:
        """Audit, plan, apply, audit again: the first look, the steps written, the last look."""
        with progress() as report:
            observer = Observer(self.cloud, AuditOptions(), report)
            self._command(2, "trueup audit")
            before = observer.observe().audit
            self._outcome(f"{len(before.findings)} findings:")
            self.story.print(_one_of_each(before))
            self._command(3, "trueup plan --out plan.json")
            planned = plan(observer, before, INTERVAL, lambda seconds: wait(seconds, report))
            steps = planned.plan.steps
            save(planned.plan, self.place / "plan.json")
            self._outcome(f"{len(steps)} guarded steps; the first:")
            self.story.print(_one_step(planned.plan))
            self._command(4, "trueup apply plan.json")
            driver = Driver(self.cloud, self.place / "journal", report)
            outcomes = driver.apply(planned.plan).outcomes
            done = tuple(step for step, outcome in outcomes if outcome.result == "done")
            self._outcome(f"{len(done)} of {len(outcomes)} steps done.")
            self._command(5, "trueup audit")
            after = observer.observe().audit
            self._outcome(f"{len(after.findings)} findings.")
        return before, done, after

    def _command(self, number: int, command: str) -> None:
        self.story.print(f"[bold]{number}. $ {command}[/bold]")
        # A command also writes to standard error, which a pipe would show before this.
        self.story.file.flush()

    def _outcome(self, words: str) -> None:
        self.story.print(f"   {words}\n")


def _opening(small: lab.SmallCloud, planted: int) -> str:
    hosts, servers = len(small.blueprint.hosts), len(small.blueprint.instances)
    return (
        f"\n[bold]1. A cloud[/bold] of {hosts} hosts in two cells with {servers} servers, "
        f"and {planted} defects planted.\n   Nova's databases are SQLite files with Nova's own "
        "tables; Placement is Trueup's.\n"
    )


def _one_of_each(result: Audit) -> str:
    lines = []
    for defect in DEFECTS:
        found = [row for row in result.findings if row.defect == defect.NAME]
        if not found:
            continue
        lines.append(f"   {len(found)} x [bold]{defect.NAME}[/bold]: {defect.TITLE}")
        for row in found[:1]:
            lines += (
                f"      {label}: {words}"
                for label, words in evidence_in_words(row.evidence).items()
            )
    return "\n".join(lines) + "\n"


def _one_step(plan: Plan) -> str:
    columns, [row, *_] = plan_table(plan)
    return "".join(
        f"      {column.lower()}: {_words(cell)}\n"
        for column, cell in zip(columns, row, strict=True)
    )


def _words(cell: Cell) -> str:
    if not isinstance(cell, Mapping):
        return str(cell)
    return "; ".join(f"{held} on {name}" for name, held in cell.items()) or "nothing"


def _totals(
    planted: Sequence[lab.Planted], before: Audit, repaired: Sequence[Step], after: Audit
) -> Table:
    """For each defect that was planted or found: how many, how many were repaired, and are left."""
    counts = (
        Counter(row.kind.value for row in planted),
        Counter(row.defect for row in before.findings),
        Counter(reason.split(":")[0] for step in repaired for reason in step.because),
        Counter(row.defect for row in after.findings),
    )
    return TOTALS_COLUMNS, [
        (defect.NAME, *(count[defect.NAME] for count in counts))
        for defect in DEFECTS
        if any(count[defect.NAME] for count in counts)
    ]
