# SPDX-License-Identifier: Apache-2.0
"""Invariant 10 for runbooks: killed in the middle, the same command again completes it, once."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.commands.emptying import DEVICE_TRAITS, DeadHost, child, dead_host, providers
from tests.cli.commands.merging import NEW_NAME, renamed
from tests.cli.commands.rekeying import HOST, NEW, held_on, with_another_uuid
from tests.cli.running import Ran, trueup
from tests.kills.rounds import may_still_come
from tests.kills.tracing import NEVER, Kill, Traced, Tracing
from tests.reconcile.small import Small, Template, build, running_copy
from trueup.reconcile.runs.journals import runs

# "": around the last steps. Otherwise every call that writes.
KILLS = os.environ.get("TRUEUP_KILLS", "")
BOTH = pytest.mark.parametrize("placement", ["trueup", "upstream"])


@pytest.fixture(scope="module")
def host_template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return build(tmp_path_factory.mktemp("runbooks") / "cloud")


@pytest.fixture
def site(
    placement: str, host_template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Small]:
    with running_copy(host_template, tmp_path / "cloud", placement, with_nova=True) as small:
        monkeypatch.setenv("TRUEUP_NOVA_CONF", str(small.nova_conf))
        yield small


@dataclass
class Rounds:
    """Runs one command again and again on the same cloud, which is brought back in between."""

    small: Small
    words: list[str]
    tracing: Tracing
    saved: Path
    state: Path

    def __post_init__(self) -> None:
        self.saved.mkdir()
        _copy(self.small.folder, self.saved)

    def begin(self, number: int) -> None:
        """The cloud as it was, and a folder without journals."""
        _copy(self.saved, self.small.folder)
        self.small.services.deletions = 0
        self.state = self.saved / f"state{number}"

    def traced(self, kill: Kill = NEVER) -> Traced:
        environment = {"TRUEUP_NOVA_CONF": str(self.small.nova_conf)}
        words = [*self.words, "--state-dir", str(self.state)]
        return self.tracing.run(words, environment, kill, command=not KILLS)

    def again(self) -> Ran:
        return trueup(*self.words, "--state-dir", self.state)

    def kills(self) -> list[Kill]:
        """Around the journal's last lines in a whole run, or at all of its calls that write.

        Those are the intent and the result of the last two steps: killed after an intent, the write
        was not sent; killed before a result, it was made and nobody noted it.
        """
        self.begin(0)
        whole = self.traced()
        assert whole.code == 0, whole.output
        if KILLS:
            every = range(1, len(whole.calls) + 1)
            return [Kill(at, when) for at in every for when in ("before", "after")]
        # A line of the journal is a write and its fsync; what is printed has no fsync.
        calls = [*whole.calls, ""]
        lines = [at for at, call in enumerate(calls, 1) if "fsync" in (call, *calls[at : at + 1])]
        return [
            Kill(at, when)
            for at, when in zip(lines[-4:], ("after", "before", "after", "before"), strict=True)
        ]


@pytest.fixture
def rounds(site: Small, tracing: Tracing, tmp_path: Path) -> Callable[[list[str]], Rounds]:
    return lambda words: Rounds(site, words, tracing, tmp_path / "saved", tmp_path / "state")


def _copy(source: Path, target: Path) -> None:
    """Every database of a folder, while it is in use."""
    for path in source.glob("*.sqlite"):
        with (
            closing(sqlite3.connect(path)) as one,
            closing(sqlite3.connect(target / path.name)) as other,
        ):
            one.backup(other)


def retired(site: Small, host: DeadHost, held: dict) -> None:
    assert host.provider not in providers(site)
    assert site.services.deletions == 1
    assert site.holding(host.evacuated)["allocations"].keys() == held.keys() - {host.provider}


@pytest.mark.timeout(7200)
@BOTH
def test_a_retirement_that_was_killed_is_completed_once(site, rounds, record_property):
    host = dead_host(site)
    child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    held = site.holding(host.evacuated)["allocations"]
    going = rounds(["retire", host.name, "--interval", "0.01", "--apply"])
    killed = 0
    for number, kill in enumerate(going.kills(), 1):
        going.begin(number)
        killed += going.traced(kill).killed
        ran = going.again()
        assert ran.code == 0, (kill, ran.out, ran.err)
        retired(site, host, held)
    record_property("killed", killed)
    assert killed


@pytest.mark.timeout(7200)
@BOTH
def test_a_retirement_that_was_killed_before_the_service_was_deleted_is_undone(site, rounds):
    host = dead_host(site)
    child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    before = site.ledger()
    going = rounds(["retire", host.name, "--interval", "0.01", "--apply"])
    undone = 0
    for number, kill in enumerate(going.kills(), 1):
        going.begin(number)
        going.traced(kill)
        if site.services.deletions:
            continue
        for journal in runs(going.state):
            code = 4 if may_still_come(journal, site.cloud) else 0
            ran = trueup("undo", journal.run, "--state-dir", going.state)
            assert ran.code == code, (kill, ran.out, ran.err)
            undone += 1
        assert site.ledger() == before
    assert undone


@pytest.mark.timeout(7200)
@BOTH
def test_a_rekeying_that_was_killed_is_completed_once_and_undone(site, rounds, record_property):
    """Before and after the one request in which everything moves."""
    host = with_another_uuid(site)
    before, held = site.ledger(), held_on(site, host.old)
    going = rounds(["rekey", HOST, "--interval", "0.01", "--apply", "--limit", "100"])
    killed = 0
    for number, kill in enumerate(going.kills(), 1):
        going.begin(number)
        killed += going.traced(kill).killed
        # At no moment an instance holds less: all of it is on one of the two.
        assert (held_on(site, host.old) or held_on(site, NEW)) == held
        ran = going.again()
        assert ran.code == 0, (kill, ran.out, ran.err)
        assert held_on(site, NEW) == held
        [journal] = runs(going.state)
        ran = trueup("undo", journal.run, "--limit", 100, "--state-dir", going.state)
        assert ran.code == 0, (kill, ran.out, ran.err)
        assert site.ledger() == before
    record_property("killed", killed)
    assert killed


@pytest.mark.timeout(7200)
@BOTH
def test_a_merging_that_was_killed_is_completed_once_and_undone(site, rounds, record_property):
    host = renamed(site).old
    before, held = site.ledger(), held_on(site, host.old)
    words = ["merge", host.name, NEW_NAME, "--interval", "0.01", "--apply", "--limit", "100"]
    going = rounds(words)
    killed = 0
    for number, kill in enumerate(going.kills(), 1):
        going.begin(number)
        killed += going.traced(kill).killed
        assert (held_on(site, host.old) or held_on(site, NEW)) == held
        ran = going.again()
        assert ran.code == 0, (kill, ran.out, ran.err)
        assert held_on(site, NEW) == held
        [journal] = runs(going.state)
        ran = trueup("undo", journal.run, "--limit", 100, "--state-dir", going.state)
        assert ran.code == 0, (kill, ran.out, ran.err)
        assert site.ledger() == before
    record_property("killed", killed)
    assert killed
