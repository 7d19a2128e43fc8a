# SPDX-License-Identifier: Apache-2.0
"""A server that loads `trueup.wsgi` starts, or says in one sentence why it does not."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy

from tests.deployment import keystone
from trueup.placement.store import schema

NOAUTH = "[api]\nauth_strategy = noauth2\n"
OTHER_REVISION = "UPDATE alembic_version SET version_num = 'f00000000000'"


def load(folder: Path, written: str) -> subprocess.CompletedProcess[str]:
    """Load the module with this placement.conf."""
    (folder / "placement.conf").write_text(written)
    environment = {**os.environ, "HOME": str(folder), "OS_PLACEMENT_CONFIG_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import trueup.wsgi; print('serves')"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def url(fresh_database: Callable[[str], str]) -> str:
    made = fresh_database("sqlite")
    schema.create(made)
    return made


def database(url: str) -> str:
    return f"[placement_database]\nconnection = {url}\n"


def test_it_serves(url, tmp_path):
    done = load(tmp_path, database(url) + NOAUTH)
    assert (done.returncode, done.stdout, done.stderr) == (0, "serves\n", "")


def test_keystone_is_taken_from_the_file(url, tmp_path):
    options = keystone.settings("http://127.0.0.1:1")["keystone_authtoken"]
    lines = "".join(f"{name} = {value}\n" for name, value in options.items())
    done = load(tmp_path, f"{database(url)}[keystone_authtoken]\n{lines}")
    assert (done.returncode, done.stdout) == (0, "serves\n")


@pytest.mark.parametrize(
    ("more", "policy", "sentence"),
    [
        ("", None, "needs the section [keystone_authtoken]"),
        (NOAUTH, "rules: [unclosed", "policy.yaml cannot be used: "),
        (NOAUTH, "- not\n- a mapping\n", "policy.yaml cannot be used: "),
        (
            f"{NOAUTH}[oslo_policy]\npolicy_file = other.yaml\n",
            None,
            "policy file other.yaml of [oslo_policy] policy_file does not exist",
        ),
    ],
)
def test_what_an_operator_has_to_mend_is_one_sentence(url, tmp_path, more, policy, sentence):
    if policy is not None:
        (tmp_path / "policy.yaml").write_text(policy)
    check_refused(load(tmp_path, database(url) + more), tmp_path, sentence)


def test_tables_of_a_later_release_are_refused(url, tmp_path):
    with sqlalchemy.create_engine(url).begin() as connection:
        connection.exec_driver_sql(OTHER_REVISION)
    done = load(tmp_path, database(url) + NOAUTH)
    check_refused(done, tmp_path, "revision f00000000000, which this release does not know")


def test_without_a_database_nothing_starts(tmp_path):
    check_refused(
        load(tmp_path, NOAUTH),
        tmp_path,
        "no database is named. Set the option 'connection' in [placement_database]",
    )


def check_refused(done: subprocess.CompletedProcess[str], folder: Path, sentence: str) -> None:
    assert done.returncode == 1
    assert done.stderr.startswith(f"trueup: {folder / 'placement.conf'}: ")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
