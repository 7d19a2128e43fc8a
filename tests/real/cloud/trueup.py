# SPDX-License-Identifier: Apache-2.0
"""The commands of Trueup as an operator types them on a controller, and what Nova's own say."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.cli.running import ROWS
from tests.real.cloud.openstack import nova_manage
from tests.real.cloud.processes import run
from tests.real.cloud.site import Site, program

CLEAN, FINDINGS, INCOMPLETE = 0, 3, 5
HEALED_NOTHING, AUDIT_CLEAN = 4, 0
READS_FACTS = ("audit", "plan", "apply", "undo", "explain", "rehearse", "retire")


@dataclass(frozen=True)
class Answer:
    """What a command ended with, its table, and what it said beside it."""

    exit_code: int
    rows: Any
    said: str

    @property
    def run_name(self) -> str:
        """The run that an apply or an undo tells how to take back."""
        [name] = re.findall(r"trueup undo (\S+)", self.said)
        return name

    def findings(self) -> list[tuple[str, str]]:
        """Defect and subject of each finding of an audit, in order."""
        return sorted(
            (row["Defect"].replace("_", "-"), row["Subject"])
            for row in self.rows
            if row["Verdict"] == "finding"
        )


@dataclass(frozen=True)
class Trueup:
    """Nova and Neutron as nova.conf says; the ledger over Placement's API."""

    site: Site

    # While instances come and go, some cannot be judged; Trueup then says so by INCOMPLETE.
    while_busy: bool = False
    # Options that say from where the facts come.
    sources: tuple[str, ...] = ()
    nova_conf: Path | None = None
    # Time between the two observations of a plan.
    interval_seconds: int = 1

    def through(self, identity_url: str) -> "Trueup":
        """The same, whose nova.conf names another address of keystone."""
        file = self.site.configuration("nova", "other-keystone.conf")
        text = self.site.nova_conf.read_text()
        file.write_text(text.replace(self.site.identity_url, identity_url))
        return replace(self, nova_conf=file)

    def audit(self, *options: str) -> Answer:
        return self._run("audit", *options, expected=self._verdicts)

    def plan(self) -> tuple[Path, Answer]:
        """The plan's file, and its table. Two observations, a second apart."""
        file = self.site.state("plan.json")
        file.unlink(missing_ok=True)
        words = ("plan", "--out", str(file), "--interval", str(self.interval_seconds))
        return file, self._run(*words, expected=self._verdicts)

    @property
    def _verdicts(self) -> tuple[int, ...]:
        return (CLEAN, FINDINGS, INCOMPLETE) if self.while_busy else (CLEAN, FINDINGS)

    def rehearse(self, plan: Path) -> None:
        """On a copy, every step is done, and nothing is left or new."""
        self._run("rehearse", str(plan))

    def explain(self, kind: str, name: str) -> Mapping[str, Any]:
        """What is known about a subject that has a finding: ids of findings, sections of words."""
        return dict(self._run("explain", kind, name, expected=(FINDINGS,)).rows)

    def why(self, server: str) -> Answer:
        """Why a server found no host, from the databases alone."""
        ledger = self.site.database("placement")
        words = ("why", "--server", server, "--database", ledger)
        return self._run(*words, expected=(FINDINGS,))

    def quota(self) -> Answer:
        return self._run("quota", "--all", expected=self._verdicts)

    def rekey(self, host: str, *options: str) -> Answer:
        """The document of the runbook; with `--out` it keeps its plan."""
        words = ("rekey", host, "--interval", str(self.interval_seconds), *options)
        return self._run(*words, expected=(CLEAN, FINDINGS))

    def retire(self, host: str, *options: str) -> Answer:
        """The document of the runbook, which writes only with `--apply`."""
        words = ("retire", host, "--interval", str(self.interval_seconds), *options)
        return self._run(*words, expected=(CLEAN, FINDINGS))

    def rebuild(self, *options: str) -> Answer:
        """What a new ledger holds, or what it still waits for."""
        return self._run("rebuild", *options, expected=(CLEAN, FINDINGS))

    def capacity(self, *options: str) -> Mapping[str, Any]:
        """The only flavor of the document."""
        [flavor] = self._run("capacity", *options).rows["flavors"]
        return flavor

    def apply(self, plan: Path) -> str:
        """Every step is written; the name of the run."""
        return self._run("apply", str(plan)).run_name

    def undo(self, run_name: str) -> str:
        """Every step is taken back; the name of the run that did it."""
        return self._run("undo", run_name).run_name

    def repair(self, rehearse: bool = False) -> str:
        """Plan and apply; the name of the run."""
        plan, planned = self.plan()
        if not planned.rows:
            # Right after an incident its evidence may still change between the two observations.
            plan, planned = self.plan()
        assert planned.rows, planned.said
        if rehearse:
            self.rehearse(plan)
        return self.apply(plan)

    def _run(self, *words: str, expected: tuple[int, ...] = (CLEAN,)) -> Answer:
        form = ROWS if words[0] == "audit" else ("-f", "json")
        sources = self.sources if words[0] in READS_FACTS else ()
        done = self._program(*words, *sources, *form, expected=expected)
        rows = json.loads(done.stdout) if done.stdout.strip() else []
        return Answer(done.returncode, rows, done.stderr)

    def _program(self, *words: str, expected: tuple[int, ...]) -> subprocess.CompletedProcess[str]:
        environment = self.site.client_environment | {
            "TRUEUP_NOVA_CONF": str(self.nova_conf or self.site.nova_conf),
            "TRUEUP_STATE_DIR": str(self.site.state("trueup")),
        }
        return run([program("trueup", "trueup"), *words], environment, expected)


def what_nova_finds(site: Site) -> list[str]:
    """What Nova's own audit and heal_allocations would change, line by line."""
    code, audited = nova_manage(site, "placement", "audit", "--verbose", expected=(0, 3))
    found = audited.splitlines() if code != AUDIT_CLEAN else []
    # A dry run always ends with 4; its lines say what it would do.
    words = ("placement", "heal_allocations", "--dry-run", "--verbose")
    _, healed = nova_manage(site, *words, expected=(HEALED_NOTHING,))
    return found + [line for line in healed.splitlines() if line.startswith("[dry-run]")]


def nothing_is_left_to_repair(site: Site, trueup: Trueup) -> bool:
    """Trueup and Nova's own commands agree."""
    assert trueup.audit().rows == []
    assert what_nova_finds(site) == []
    return True


def openstack_command(site: Site, *words: str) -> Any:
    """The document that the real client prints."""
    done = run([program("openstack", "openstack"), *words, "-f", "json"], site.client_environment)
    return json.loads(done.stdout)
