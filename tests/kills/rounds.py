# SPDX-License-Identifier: Apache-2.0
"""One round: a plan is applied, something happens, it is applied again, and undone."""

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from tests.kills.site import Site
from trueup.reconcile import changes
from trueup.reconcile.plan import plan_file
from trueup.reconcile.runs import journals
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Step


@dataclass(frozen=True)
class Round:
    """A plan on a site, with a folder of its own for journals, and what there was before."""

    site: Site
    steps: tuple[Step, ...]
    plan: Path
    state: Path
    ledger: bytes
    outside: dict
    hidden: dict[str, int]

    @property
    def run_name(self) -> str:
        return plan_file.load(self.plan).id

    @property
    def words(self) -> list[str]:
        """The command line of its apply."""
        return ["apply", *self.site.options, "--state-dir", str(self.state), str(self.plan)]

    def apply_again(self) -> None:
        """The second run completes the plan, and each change is written once."""
        ran = self.site.run("apply", self.plan, state=self.state)
        assert ran.code == 0, ran.out + ran.err
        self.is_complete()

    @property
    def left_open(self) -> bool:
        """Whether a step of its run was about to be written, and is not written now."""
        return any(may_still_come(one, self.site.cloud) for one in journals.runs(self.state))

    @property
    def began(self) -> bool:
        """Whether there is a journal of its run."""
        return any(isinstance(one, Journal) for one in journals.runs(self.state))

    def is_complete(self) -> None:
        for step in self.steps:
            for change in step.changes:
                found = changes.read(change.target, self.site.cloud)
                assert found.state == change.after, change.target
                sent = {one: self.hidden.get(one, was) for one, was in change.version.items()}
                ours = changes.version_after(replace(change, version=sent)) or {}
                assert ours.items() <= found.version.items(), "written once, and not twice"

    def undo(self, *only: str) -> None:
        """Undo gives back the ledger byte for byte, and what the other services held."""
        named = [word for step in only for word in ("--step", step)]
        ran = self.site.run("undo", self.run_name, *named, state=self.state)
        assert ran.code == 0, ran.out + ran.err
        self.is_as_before()

    def is_as_before(self) -> None:
        assert self.site.ledger() == self.ledger
        assert self.site.state() == self.outside


def may_still_come(run: Journal | Unreadable, cloud: Cloud) -> bool:
    """Whether a step of a run has an intent and no outcome, and nothing of it is there."""
    return isinstance(run, Journal) and any(
        run.intended_at(step) is not None
        and run.outcome_of(step) is None
        and all(changes.read(one.target, cloud).state == one.before for one in step.changes)
        for step in run.plan.steps
    )


def begun(site: Site, steps: tuple[Step, ...], earlier: Round | None = None) -> Round:
    """A round of these steps, at what the site holds now: the same as an `earlier` one left."""
    assert steps
    ledger = earlier.ledger if earlier else site.ledger()
    return Round(
        site, steps, site.saved(*steps), site.fresh_state(), ledger, site.state(), site.hidden
    )
