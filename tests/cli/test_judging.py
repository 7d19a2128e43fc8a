# SPDX-License-Identifier: Apache-2.0
"""How commands judge: which acknowledgements count. What they print: test_audit.py."""

import argparse

import pytest

from trueup.cli import judging
from trueup.cli.judging import add_audit_options, audit_options
from trueup.reconcile.verdicts.acknowledgement_file import AcknowledgementsUnreadable

TEXT = """
[[acknowledged]]
kind = "lagging-replica"
name = "cell2"
reason = "a report replica"
until = {until}
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEUP_ACKNOWLEDGED", raising=False)
    monkeypatch.setattr(judging, "ACKNOWLEDGED", tmp_path / "none.toml")
    (tmp_path / "acknowledged.toml").write_text(TEXT.format(until="2999-01-01"))
    return tmp_path / "acknowledged.toml"


def parsed(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_audit_options(parser)
    return parser.parse_args([str(word) for word in words])


def test_without_a_file_nothing_is_acknowledged(path):
    assert audit_options(parsed()).acknowledgements == ()
    assert audit_options(parsed("--grace", 5)).grace_seconds == 5


def test_the_file_that_is_named_counts_before_the_one_of_the_environment(path, monkeypatch):
    options = audit_options(parsed("--acknowledged", path))
    assert [one.name for one in options.acknowledgements] == ["cell2"]
    monkeypatch.setenv("TRUEUP_ACKNOWLEDGED", "/nowhere/acknowledged.toml")
    assert audit_options(parsed("--acknowledged", path)) == options
    with pytest.raises(AcknowledgementsUnreadable):
        audit_options(parsed())


def test_the_file_beside_the_configuration_need_not_be_named(path, monkeypatch):
    monkeypatch.setattr(judging, "ACKNOWLEDGED", path)
    assert [one.name for one in audit_options(parsed()).acknowledgements] == ["cell2"]


@pytest.mark.parametrize(("until", "cells"), [("2999-01-01", {"cell2"}), ("2020-01-01", set())])
def test_a_cell_may_lag_behind_until_that_expires(path, until, cells):
    path.write_text(TEXT.format(until=until))
    assert audit_options(parsed("--acknowledged", path)).cells_allowed_behind == cells
