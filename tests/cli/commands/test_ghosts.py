# SPDX-License-Identifier: Apache-2.0
"""`trueup ghosts` on a small cloud of which one host is a real libvirtd, with the test driver."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import nova_conf, small, small_on, state, template
from tests.cli.running import Ran, trueup
from tests.kills.hypervisor import MISSING, hypervisor
from tests.reconcile.small import Small
from tests.servers.domains import connected, define, forget, states
from tests.servers.skipping import skip_without
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying, runs

__all__ = ["nova_conf", "small", "small_on", "state", "template"]
ORPHAN = "orphaned-allocation"
# A hypervisor without any domain of Nova's.
EMPTY = "test:///default"


@pytest.fixture(scope="module")
def libvirtd() -> Iterator[str]:
    with hypervisor() as uri:
        if not uri:
            skip_without(MISSING)
        yield uri


@pytest.fixture
def ghosts(small: Small, nova_conf: Path, libvirtd: str) -> Iterator[Callable[..., Ran]]:
    """Runs the command; the domain of the deleted instance is left to the test to define."""

    def run(*words: object) -> Ran:
        host = f"compute-01={libvirtd}"
        asked = ("--libvirt", EMPTY, "--libvirt-uri", host, "--interval", 0.01)
        return trueup("ghosts", *asked, *words)

    yield run
    forget(libvirtd, small.consumer(ORPHAN))


def test_a_stuck_instance_ends_clean_in_ledger_and_hypervisor(ghosts, small, libvirtd):
    ghost = small.consumer(ORPHAN)
    define(libvirtd, ghost)
    assert "Next: the same with --apply, without --all\n" in ghosts("--all").err
    shown = ghosts("-f", "json")
    assert shown.code == 3
    assert "Next: the same with --apply\n" in shown.err
    [row] = [one for one in shown.json() if one["Instance"] == ghost]
    assert row["Nova"].startswith("deleted at ")
    assert row["Hypervisor"] == "shut off on compute-01"
    assert row["Verdict"] == "orphaned-allocation; ghost-domain"
    undefining, releasing = row["Plan"].split("; ", 1)
    assert undefining == "undefine it on compute-01"
    assert releasing.startswith("release VCPU=")
    assert f"Kept on compute-01: /var/lib/nova/instances/{ghost}/disk" in shown.err
    assert ghost in states(libvirtd), "nothing is written without --apply"

    applied = ghosts("--apply", "-f", "json")
    assert applied.code == 0, applied.err
    steps = [(one["Subject"], one["Result"]) for one in applied.json()]
    assert steps == [(f"{ghost}@compute-01", "done"), (ghost, "done")], "the ledger comes last"
    assert ghost not in states(libvirtd)
    assert small.holding(ghost)["allocations"] == {}

    again = ghosts("--apply")
    assert (again.code, again.out.strip()) == (0, "")


def test_undo_defines_the_domain_again(ghosts, small, libvirtd):
    ghost = small.consumer(ORPHAN)
    define(libvirtd, ghost)
    with connected(libvirtd) as connection:
        text = connection.lookupByUUIDString(ghost).XMLDesc(0)
    held = small.holding(ghost)["allocations"]
    applied = ghosts("--apply")
    [reported] = [line for line in applied.err.splitlines() if line.startswith("To take it back")]
    undone = trueup(*shlex.split(reported.partition("trueup ")[2]))
    assert undone.code == 0, undone.err
    with connected(libvirtd) as connection:
        assert connection.lookupByUUIDString(ghost).XMLDesc(0) == text
    amounts = [one["resources"] for one in small.holding(ghost)["allocations"].values()]
    assert amounts == [one["resources"] for one in held.values()]


def test_invariant_13_a_running_guest_is_stopped_only_by_name(ghosts, small, libvirtd):
    ghost = small.consumer(ORPHAN)
    define(libvirtd, ghost, running=True)
    left = ghosts("--apply", "--yes")
    assert left.code == ghosts().code == 5, "what it holds could not be checked"
    assert states(libvirtd)[ghost], "it runs on"
    assert small.holding(ghost)["allocations"], "and is counted"

    unsaid = ghosts("--apply", "--domain", ghost)
    assert (unsaid.code, states(libvirtd)[ghost]) == (2, True)
    assert "say --yes as well" in unsaid.err
    dry = ghosts("--domain", ghost, "-f", "json")
    assert dry.code == 3, "the plan settles what could not be checked"
    [row] = [one for one in dry.json() if one["Instance"] == ghost]
    assert row["Plan"].startswith("stop its guest and undefine it on compute-01; release VCPU=")
    assert f"Cannot be undone: domain {ghost} on compute-01: its guest is stopped" in dry.err

    named = ghosts("--apply", "--domain", ghost, "--yes")
    assert named.code == 0, named.err
    assert ghost not in states(libvirtd)
    assert small.holding(ghost)["allocations"] == {}
    again = ghosts("--apply", "--domain", ghost, "--yes")
    assert again.code == 0, again.err


def test_a_guest_that_starts_after_the_plan_is_left(ghosts, small, libvirtd, tmp_path):
    ghost, path = small.consumer(ORPHAN), tmp_path / "plan.json"
    define(libvirtd, ghost)
    assert ghosts("--out", path).code == 3
    with connected(libvirtd) as connection:
        connection.lookupByUUIDString(ghost).create()
    asked = ("--libvirt", EMPTY, "--libvirt-uri", f"compute-01={libvirtd}")
    applied = trueup("apply", path, *asked, "-f", "json")
    assert applied.code == 4
    refused = {one["Subject"]: one["Reason"] for one in applied.json()}
    assert refused == {
        f"{ghost}@compute-01": "the domain on compute-01 was shut off, it is running",
        ghost: f"it needs domain:{ghost}@compute-01, which is not done",
    }
    assert states(libvirtd)[ghost]
    assert small.holding(ghost)["allocations"], "Placement still counts what it uses"


def test_a_guest_that_runs_and_holds_nothing_is_work_to_do(ghosts, small, libvirtd):
    ghost = small.consumer(ORPHAN)
    define(libvirtd, ghost, running=True)
    small.call("DELETE", f"/allocations/{ghost}")
    for words in ((), ("--domain", ghost), ("--apply",)):
        assert ghosts(*words).code == 3, words
    assert states(libvirtd)[ghost]


@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_without_an_answer_of_any_hypervisor_nothing_was_compared(small, nova_conf, words):
    silent = "qemu+tcp://127.0.0.1:1/system"
    ran = trueup("ghosts", "--libvirt", silent, "--interval", 0.01, *words)
    assert ran.code == 5, ran.err
    assert "Not read from libvirt: domains of compute-01" in ran.err
    assert "Nova, the hypervisors and Placement agree about 0. Of " in ran.err


def test_a_plan_that_is_kept_can_be_rehearsed(ghosts, small, libvirtd, tmp_path):
    ghost, path = small.consumer(ORPHAN), tmp_path / "plan.json"
    define(libvirtd, ghost)
    assert ghosts("--out", path).code == 3
    asked = ("--libvirt", EMPTY, "--libvirt-uri", f"compute-01={libvirtd}")
    rehearsed = trueup("rehearse", path, *asked)
    assert rehearsed.code == 0, rehearsed.err
    assert "2 of 2 steps done" in rehearsed.err
    assert ghost in states(libvirtd)


def test_a_step_that_was_left_unknown_is_found_out_by_the_same_command(
    ghosts, small, libvirtd, tmp_path, state
):
    ghost, path = small.consumer(ORPHAN), tmp_path / "plan.json"
    define(libvirtd, ghost)
    assert ghosts("--out", path).code == 3
    plan = load(path)
    with applying(plan, state, Origin()) as journal:
        for step in plan.steps:
            journal.intend(step)
            journal.record(
                Outcome(step.id, "unknown", because("answer", words="it was not answered"))
            )
    ran = ghosts("--apply")
    assert ran.code == 0, ran.err
    assert f"Run {plan.id}-1 was interrupted; continuing it." in ran.err
    [run] = runs(state)
    assert run.finished
    assert ghost not in states(libvirtd)


def test_a_host_narrows_what_is_shown_and_planned(ghosts, small, libvirtd):
    ghost = small.consumer(ORPHAN)
    define(libvirtd, ghost)
    elsewhere = ghosts("--host", "compute-02", "-f", "json")
    assert ghost not in {one["Instance"] for one in elsewhere.json()}
    misspelled = ghosts("--host", "compute-99")
    assert misspelled.code == 2
    assert "compute-99" in misspelled.err
    here = ghosts("--host", "compute-01", "--all", "-f", "json")
    assert ghost in {one["Instance"] for one in here.json()}
    assert len(here.json()) > 1


def test_nothing_is_said_of_hypervisors_that_did_not_answer(nova_conf, small):
    silent = ("--libvirt", "test:///no/such/file.xml", "--interval", 0.01)
    ran = trueup("ghosts", *silent, "--all", "-f", "json")
    assert ran.code == 5
    assert "libvirt (0 domains)" not in ran.err
    assert "Not read from libvirt: domains of compute-01" in ran.err
    verdicts = {row["Verdict"] for row in ran.json() if row["Hypervisor"] == "not known"}
    assert "Nova and Placement agree" in verdicts
    assert "they agree" not in verdicts
    gone = small.consumer(ORPHAN)
    ran = trueup("ghosts", *silent, "--domain", gone)
    assert (ran.code, "known to be deleted" in ran.err) == (2, False)
    assert f"no hypervisor that answered has domain {gone} of its deleted instance" in ran.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--domain", "no-such-domain"], "domain no-such-domain does not belong to an instance"),
        (["--apply", "--out", "plan.json"], "--out: with --apply"),
        (["--apply", "--all"], "--all: with --apply"),
        (["--send-to", "file:sent"], "--send-to: it would be ignored: nothing is written"),
        (["--sign-with", "key"], "--sign-with: it would be ignored: nothing is written"),
    ],
)
def test_what_makes_no_sense_is_refused(ghosts, words, option):
    ran = ghosts(*words)
    assert ran.code == 2
    assert option in ran.err
