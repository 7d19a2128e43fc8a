# SPDX-License-Identifier: Apache-2.0
"""The sources of the configuration, and their order."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueup.placement import config
from trueup.placement.config import ConfigurationUnusable, Settings

URL = "[placement_database]\nconnection = sqlite:///{}.sqlite\n"


@pytest.fixture(autouse=True)
def _no_files_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(*words: str, **environment: str) -> Settings:
    return config.read(config.load(words, environment))


def test_without_configuration_upstreams_defaults_apply():
    settings = read()
    assert settings.database_url is None
    assert settings.auth_strategy == "keystone"
    assert settings.candidates_max is None
    assert settings.cors is None
    assert not settings.healthcheck


def test_the_folder_in_the_environment_names_the_file(tmp_path):
    write(tmp_path / "etc" / "placement.conf", URL.format("file"))
    settings = read(OS_PLACEMENT_CONFIG_DIR=f" {tmp_path / 'etc'} ")
    assert settings.database_url == "sqlite:///file.sqlite"


def test_files_of_the_folder_beside_it_win(tmp_path):
    etc = tmp_path / "etc"
    write(etc / "placement.conf", URL.format("file") + "max_pool_size = 3\n")
    write(etc / "placement.conf.d" / "10-secret.conf", URL.format("first"))
    write(etc / "placement.conf.d" / "20-secret.conf", URL.format("second"))
    settings = read(OS_PLACEMENT_CONFIG_DIR=str(etc))
    assert settings.database_url == "sqlite:///second.sqlite"
    assert settings.database.pool_size == 3


def test_the_usual_folders_are_searched(tmp_path):
    write(tmp_path / "home" / ".placement" / "placement.conf", URL.format("home"))
    write(
        tmp_path / "home" / ".placement" / "placement.conf.d" / "a.conf",
        "[placement]\nmax_allocation_candidates = 100\n",
    )
    settings = read()
    assert settings.database_url == "sqlite:///home.sqlite"
    assert settings.candidates_max == 100


def test_the_environment_wins_over_files(tmp_path, monkeypatch):
    file = write(tmp_path / "placement.conf", URL.format("file") + "[api]\nauth_strategy=noauth2\n")
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:///variable.sqlite")
    settings = read(f"--config-file={file}")
    assert settings.database_url == "sqlite:///variable.sqlite"
    assert settings.auth_strategy == "noauth2"


def test_unknown_options_and_groups_are_ignored(tmp_path):
    strange = "[profiler]\nenabled = true\n[placement]\nnew_in_next_release = 7\n"
    file = write(tmp_path / "placement.conf", URL.format("file") + strange)
    assert read(f"--config-file={file}").database_url == "sqlite:///file.sqlite"
    assert config.from_mapping({"profiler": {"enabled": True}}).auth_strategy == "keystone"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[api]\nauth_strategy = anyone\n", "anyone"),
        ("[placement]\nmax_allocation_candidates = many\n", "many"),
        ("[placement_database]\nmax_overflow = -2\n", "max_overflow"),
        ("[placement_database]\npool_timeout = -1\n", "pool_timeout"),
        ("no equals sign\n", "parse"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(tmp_path, text, words):
    file = write(tmp_path / "placement.conf", text)
    with pytest.raises(ConfigurationUnusable, match=words):
        read(f"--config-file={file}")


def test_a_given_value_that_makes_no_sense_is_refused():
    with pytest.raises(ConfigurationUnusable, match=r"pool_timeout in \[placement_database\]"):
        config.from_mapping({"placement_database": {"pool_timeout": "soon"}})


def test_an_invalid_value_in_a_file_names_the_file_and_no_class_of_oslo_config(tmp_path):
    path = write(tmp_path / "placement.conf", "[trueup]\nlock_wait_timeout = ten\n")
    with pytest.raises(ConfigurationUnusable) as error:
        config.read(config.load([f"--config-file={path}"], {}))
    assert f"lock_wait_timeout in {path} is not valid" in str(error.value)


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigurationUnusable, match="nowhere"):
        read(OS_PLACEMENT_CONFIG_DIR=str(tmp_path / "nowhere"))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "placement.conf").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigurationUnusable, match=r"not UTF-8, of .*placement\.conf"):
        read(OS_PLACEMENT_CONFIG_DIR=str(tmp_path))
    with pytest.raises(ConfigurationUnusable, match="is a folder"):
        config.load([f"--config-file={tmp_path}"])


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (None, r"no database is named. Set the option 'connection' in \[placement_database\]"),
        ("nonsense", "cannot be used"),
        ("mysql+pymysql://a:p@ss:word@host/name", "cannot be used: [^']*, write %40 for @"),
        ("nosuchdatabase://host/name", "cannot be used"),
        ("mysql+nosuchdriver://host/name", "cannot be used"),
        ("oracle+cx_oracle://host/name", "driver 'cx_Oracle' is not installed"),
    ],
)
def test_an_unusable_database_url_is_refused(url, words):
    settings = config.from_mapping({"placement_database": {"connection": url}})
    with pytest.raises(ConfigurationUnusable, match=words):
        config.open_database(settings)


def test_connection_parameters_are_added_to_the_url():
    given = {"connection": "mysql+pymysql://a:b@c/d?charset=utf8", "connection_parameters": "e=1"}
    database = config.open_database(config.from_mapping({"placement_database": given}))
    assert dict(database.engine.url.query) == {"charset": "utf8", "e": "1"}


@pytest.fixture
def logging_kept() -> Iterator[None]:
    """Whatever a test sets up, the next one has the logging of before."""
    changed = [logging.getLogger(name) for name in (None, "placement", "trueup")]
    before = [(one, one.handlers[:], one.level, one.parent) for one in changed]
    yield
    logging.captureWarnings(False)
    for one, handlers, level, parent in before:
        one.handlers[:], one.parent = handlers, parent
        one.setLevel(level)


@pytest.mark.parametrize(
    "line",
    [
        "log_file = {tmp_path}",
        "log_config_append = {tmp_path}/nowhere",
        "default_log_levels = nonsense",
    ],
)
def test_logging_that_cannot_be_set_up_is_refused(tmp_path, line, logging_kept):
    text = f"[DEFAULT]\n{line.format(tmp_path=tmp_path)}\n"
    file = write(tmp_path / "placement.conf", text)
    with pytest.raises(ConfigurationUnusable, match="logging cannot be set up"):
        config.set_up_logging(config.load([f"--config-file={file}"]))


def test_a_dollar_in_a_password_is_explained(tmp_path):
    text = "[placement_database]\nconnection = mysql+pymysql://u:a$b@host/name\n"
    file = write(tmp_path / "placement.conf", text)
    with pytest.raises(ConfigurationUnusable, match=r"write '\$\$' for a '\$'"):
        read(f"--config-file={file}")


def test_settings_for_upstreams_loggers_hold_for_ours(tmp_path, logging_kept):
    logs = tmp_path / "placement.log"
    write(
        tmp_path / "logging.conf",
        "[loggers]\nkeys = root, placement\n[handlers]\nkeys = file\n[formatters]\nkeys = plain\n"
        "[logger_root]\nlevel = WARNING\nhandlers =\n"
        "[logger_placement]\nlevel = INFO\nhandlers = file\nqualname = placement\n"
        "[handler_file]\nclass = FileHandler\nformatter = plain\n"
        f"args = ('{logs}',)\n[formatter_plain]\nformat = %(levelname)s %(name)s %(message)s\n",
    )
    file = f"[DEFAULT]\nlog_config_append = {tmp_path / 'logging.conf'}\n"
    path = write(tmp_path / "placement.conf", file)
    config.set_up_logging(config.load([f"--config-file={path}"], {}))
    logging.getLogger("trueup.placement.app").info("heard")
    assert logs.read_text() == "INFO trueup.placement.app heard\n"
