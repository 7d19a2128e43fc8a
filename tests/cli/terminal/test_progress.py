# SPDX-License-Identifier: Apache-2.0
"""Progress is for people at a terminal; a pipe gets none of it."""

import pytest

from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import trueup
from trueup.cli.terminal.progress import progress, wait


def test_a_terminal_shows_a_bar_for_each_stage(nova_conf):
    code, shown = at_a_terminal("audit")
    assert code == 3
    for stage in ("providers", "cells"):
        assert stage in shown
    assert "6/6" in shown
    assert "Answered: Placement" in shown


def test_a_pipe_gets_lines_and_no_bar(nova_conf):
    ran = trueup("audit")
    assert [line.split()[0] for line in ran.err.splitlines()] == ["Answered:", "4", "Next:"]
    assert "\x1b" not in ran.err
    assert "6/6" not in ran.err


@pytest.mark.parametrize("seconds", [0, -5])
def test_what_is_over_is_not_waited_for(seconds):
    reported = []
    wait(seconds, lambda *counts: reported.append(counts))
    assert reported == []


def test_how_many_there_are_need_not_be_known(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress() as report:
        report("instances", 2000, 0)
        report("instances", 4000, 0)
        report("cells", 1, 2)


def test_ctrl_c_ends_with_a_sentence(nova_conf, tmp_path):
    code, shown = at_a_terminal("plan", "--interval", 3000, typed_when=("waiting", "\x03"))
    assert code == 130
    assert "stopped by Ctrl-C" in shown
    assert "Traceback" not in shown
