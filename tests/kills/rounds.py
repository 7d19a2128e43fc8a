# SPDX-License-Identifier: Apache-2.0
"""One round: a plan is applied, something happens, it is applied again, and undone."""

from dataclasses import dataclass
from pathlib import Path

from tests.kills.site import Site
from trueup.reconcile import changes, plan_file
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
    accepted: int

    @property
    def run_name(self) -> str:
        return plan_file.load(self.plan).id

    @property
    def words(self) -> list[str]:
        """The command line of its apply."""
        return ["apply", *self.site.options, "--state-dir", str(self.state), str(self.plan)]

    def apply_again(self) -> None:
        """The second run completes the plan, and each change is written once."""
        self.site.placement.settle()
        self.site.others.settle()
        ran = self.site.run("apply", self.plan, state=self.state)
        assert ran.code == 0, ran.out + ran.err
        self.is_complete()

    def is_complete(self) -> None:
        for step in self.steps:
            for change in step.changes:
                found = changes.read(change.target, self.site.cloud)
                assert found.state == change.after, change.target
                ours = changes.version_after(change) or {}
                assert ours.items() <= found.version.items(), "written once, and not twice"

    def undo(self) -> None:
        """Undo gives back the ledger byte for byte, and what the other services held."""
        ran = self.site.run("undo", self.run_name, state=self.state)
        assert ran.code == 0, ran.out + ran.err
        self.is_as_before()

    def is_as_before(self) -> None:
        assert self.site.ledger() == self.ledger
        assert self.site.state() == self.outside


def begun(site: Site, steps: tuple[Step, ...]) -> Round:
    """A round of these steps, at what the site holds now."""
    assert steps
    return Round(
        site, steps, site.saved(*steps), site.fresh_state(), site.ledger(), site.state(),
        site.accepted,
    )  # fmt: skip
