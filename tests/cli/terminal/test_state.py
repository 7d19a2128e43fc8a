# SPDX-License-Identifier: Apache-2.0
"""Where commands keep what outlives them."""

from pathlib import Path

from trueup.cli.terminal.state import state_folder


def test_the_nearest_variable_names_the_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/operator")
    monkeypatch.delenv("TRUEUP_STATE_DIR", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_folder() == Path("/home/operator/.local/state/trueup")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert state_folder() == Path("/state/trueup")
    monkeypatch.setenv("TRUEUP_STATE_DIR", "/here")
    assert state_folder() == Path("/here")
