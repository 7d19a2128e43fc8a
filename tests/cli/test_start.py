# SPDX-License-Identifier: Apache-2.0
"""The program as it is installed: Ctrl-C ends it with a sentence, also while it is imported."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.interrupting import Stalling, interrupted, stalling
from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import Ran, trueup
from tests.reconcile.small import Small
from trueup.lab.embedded import embedded_placement
from trueup.reconcile.runs.journals import runs

SAID = "stopped by Ctrl-C or SIGTERM; nothing further is written.\n"

# Modules that `Ctrl-C` hits while they are imported, as the kernel would send it.
AT_IMPORT = """
import signal
import sys

interrupted, *words = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            signal.raise_signal(signal.SIGINT)


sys.meta_path.insert(0, Pressed())
from trueup.cli.start import main

sys.argv = ["trueup", *words]
sys.exit(main())
"""


def interrupted_at(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AT_IMPORT, module, *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_ctrl_c_while_the_program_or_a_command_is_imported_ends_with_a_sentence():
    for module in ("cliff.app", "rich.console", "trueup.cli.commands.audit", "keystoneauth1"):
        ran = interrupted_at(module, "audit")
        assert (ran.returncode, ran.stdout) == (130, ""), module
        assert ran.stderr == f"trueup: {SAID}", module


def test_the_exit_code_is_the_commands():
    program = [sys.executable, "-c", "from trueup.cli.start import main; raise SystemExit(main())"]
    for words, code in ((["defects"], 0), (["nosuch"], 2), (["journal", "nosuch"], 2)):
        ran = subprocess.run([*program, *words], capture_output=True, check=False)
        assert ran.returncode == code


@pytest.fixture
def between(small: Small, nova_conf: Path) -> Iterator[Stalling]:
    with stalling(nova_conf, small.placement_url) as stalls:
        yield stalls


def assert_stopped(ran: Ran, begin: str = "trueup") -> None:
    """One sentence at the end, no traceback, and the code of a program that Ctrl-C stopped."""
    assert (ran.code, ran.out) == (130, ""), ran.err
    assert ran.err.endswith(f"{begin}: {SAID}"), ran.err
    assert ran.err.count("Ctrl-C") == 1
    assert "Traceback" not in ran.err
    assert "Exception" not in ran.err


def test_ctrl_c_while_something_is_read_writes_nothing(small, between, tmp_path):
    kept, uuid = tmp_path / "ledger.json", small.consumer("orphaned-allocation")
    before = small.rows()
    for words, path, begin in (
        (("explain", "instance", uuid), "/allocations", "trueup"),
        (("ledger", "export", kept), "/allocations", "trueup"),
        (("nova-manage", "placement", "heal_allocations"), "/", "trueup"),
        (("ghosts", "--libvirt", "test:///default"), "/", "trueup"),
    ):
        between.stall_next("GET", path)
        assert_stopped(interrupted(between, *words), begin)
        assert not kept.exists()
    assert small.rows() == before


def test_ctrl_c_during_an_import_leaves_what_the_same_command_continues(
    small, between, nova_conf, tmp_path
):
    kept, there = tmp_path / "ledger.json", tmp_path / "there"
    assert trueup("ledger", "export", kept).code == 0
    there.mkdir()
    with embedded_placement(there) as empty:
        between.target = empty.endpoint()
        between.stall_next("PUT", "/allocations")
        assert_stopped(interrupted(between, "ledger", "import", kept))
        between.stalls = lambda method, path: False
        ran = trueup("ledger", "import", kept)
        assert ran.code == 0, ran.err


def test_ctrl_c_during_a_write_loses_nothing(small, between, plan_file, state):
    """The write is made and not answered: the journal knows of it, and each can be continued."""
    right = {}
    for words in (("apply", plan_file), ("undo",)):
        if words == ("undo",):
            right = small.ledger()
            words += (runs(state)[0].run,)
        between.stall_next("PUT", "/allocations")
        ran = interrupted(between, *words)
        assert_stopped(ran)
        assert "1 unknown" in ran.err
        assert "To continue it: " in ran.err
        between.stalls = lambda method, path: False
        again = trueup(*words)
        assert again.code == 0, again.out + again.err
    assert small.ledger() != right
    assert trueup("plan", "--interval", 0.01, "--out", plan_file).code == 3
    assert trueup("apply", plan_file).code == 0
    assert small.ledger() == right


def test_sigterm_during_a_write_loses_nothing_either(small, between, plan_file):
    between.stall_next("PUT", "/allocations")
    ran = interrupted(between, "apply", plan_file, by=signal.SIGTERM)
    assert_stopped(ran)
    assert "1 unknown" in ran.err
    assert "To continue it: " in ran.err


def test_ctrl_c_while_heal_writes_is_completed_by_the_same_command(small, between, state):
    words = ("nova-manage", "placement", "heal_allocations", "--interval", "0.01")
    between.stalls = lambda method, path: method in ("PUT", "POST") and path.startswith("/alloc")
    ran = interrupted(between, *words)
    assert_stopped(ran)
    [journal] = runs(state)
    assert f"Run {journal.run}: " in ran.err
    assert " unknown.\n" in ran.err
    assert f"To take it back: trueup undo {journal.run}" in ran.err
    between.stalls = lambda method, path: False
    again = trueup(*words)
    # 4: all was written, of which the first run only got no answer.
    assert again.code in (0, 4), again.out + again.err
    assert small.holding(small.consumer("missing-allocation"))["allocations"]
    assert trueup(*words).code == 4


def test_ctrl_c_while_a_rebuild_waits_for_reports(small, nova_conf, tmp_path):
    new = f"sqlite:///{tmp_path / 'new.sqlite'}"
    assert trueup("rebuild", "--lost", "--into", new, "--apply").code in (0, 3)
    words = ("rebuild", "--check", "--into", new, "--wait", "3000")
    code, shown = at_a_terminal(*words, typed_when=("to report", "\x03"))
    assert code == 130
    assert "stopped by Ctrl-C" in shown
    assert "Traceback" not in shown
