# SPDX-License-Identifier: Apache-2.0
"""trueup serve refuses in one line what cannot be; tests/deployment has it serve."""

import socket

import pytest

from tests.cli.running import trueup


@pytest.fixture(autouse=True)
def _no_configuration_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_without_authentication_only_this_machine_may_ask(host):
    ran = trueup("serve", "--host", host)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "every client that reaches" in ran.err
    assert "--insecure" in ran.err


def test_noauth2_is_no_authentication(tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text(
        f"[placement_database]\nconnection = sqlite:///{tmp_path}/p.sqlite\n"
        "[api]\nauth_strategy = noauth2\n"
    )
    ran = trueup("serve", "--config-file", file, "--host", "0.0.0.0")
    assert (ran.code, "every client that reaches" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--host", "nowhere.invalid"), 2, "--host nowhere.invalid is not an address"),
        (("--database", "nonsense"), 2, "cannot be used"),
        (("--database", "mysql://a:b@127.0.0.1:1/c"), 5, "the database does not answer"),
        (("--config-file", "/nowhere"), 2, "/nowhere"),
        (("--config-file", "a", "--database", "b"), 2, "use one of them"),
        (("--state-dir", "/proc/nowhere"), 2, "Choose another one with --state-dir"),
        (("--state-dir", "a", "--database", "b"), 2, "--state-dir would be ignored"),
    ],
)
def test_what_cannot_be_is_one_line(words, code, said):
    ran = trueup("serve", *words)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert said in ran.err


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = trueup("serve", "--port", port)
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in ran.err


def test_a_database_without_tables_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{tmp_path}/empty.sqlite")
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
    ran = trueup("serve")
    assert ran.code == 2
    assert "Run 'trueup-manage db sync'" in ran.err


def test_a_folder_is_not_ignored_beside_a_database_that_is_configured(tmp_path, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{tmp_path}/empty.sqlite")
    ran = trueup("serve", "--state-dir", tmp_path)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "--state-dir would be ignored" in ran.err


@pytest.mark.parametrize("option", ["--port", "--workers", "--threads"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "70000"])
def test_numbers_have_limits(option, value):
    with pytest.raises(SystemExit) as ended:
        trueup("serve", option, value)
    assert ended.value.code == 2
