# SPDX-License-Identifier: Apache-2.0
"""The program: its commands, what it says of those it has not, and errors nobody foresaw."""

import logging
import subprocess
import sys
import warnings

import pytest

from tests.cli.running import trueup
from trueup.cli.commands import defects
from trueup.cli.main import COMMANDS, Commands, Trueup, main


@pytest.fixture(autouse=True)
def logging_as_before():
    """The program sets logging up for itself."""
    root, ours = logging.getLogger(), logging.getLogger("trueup")
    handlers, level, our_level = list(root.handlers), root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def test_help_names_every_command():
    ran = trueup("help")
    assert ran.code == 0
    assert all(f"  {command} " in ran.out for command in COMMANDS)
    assert "complete" in ran.out


def test_without_a_command_there_is_help_and_the_code_for_it():
    ran = trueup()
    assert ran.code == 2
    assert all(f"  {command} " in ran.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_is_for(command):
    ran = trueup("help", *command.split())
    assert ran.code == 0
    assert ran.out.startswith(f"usage: trueup {command}")


@pytest.mark.parametrize("words", [["nosuch"], ["help", "nosuch"], ["xyzzy"], ["help", "xyzzy"]])
def test_an_unknown_command_is_a_matter_of_usage(words):
    ran = trueup(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.splitlines() == [
        "usage: trueup [options] COMMAND ...",
        f"trueup: there is no command '{words[-1]}'. 'trueup help' lists the commands.",
    ]


def test_an_unknown_command_names_the_one_that_was_probably_meant():
    assert "Did you mean 'audit'?" in trueup("audt", "--all").err


def test_help_about_an_unknown_command_names_the_one_that_was_probably_meant():
    assert "Did you mean 'rehearse'?" in trueup("help", "reherse").err


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--nosuch"],
        ["audit", "-f", "nosuch"],
        ["audit", "--grace", "soon"],
        ["apply"],
        ["undo"],
        ["apply", "plan.json", "--limit", "many"],
    ],
)
def test_an_unknown_option_or_a_missing_word_is_a_matter_of_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "error:" in said.err
    assert "Traceback" not in said.err


def test_an_unknown_option_before_the_command_is_a_matter_of_usage():
    ran = trueup("--nosuch", "audit")
    assert (ran.code, ran.out) == (2, "")
    assert "trueup itself has no option --nosuch. Options of a command come after" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_of_a_command_is_not_taken_for_one_of_the_program(command):
    program = Trueup()
    ours = set(program.parser._option_string_actions)
    found, _, _ = program.command_manager.find_command(command.split())
    parser = found(program, program.parser).get_parser(f"trueup {command}")
    for option in set(parser._option_string_actions) - ours:
        _, rest = program.parser.parse_known_args([option, "x"])
        assert rest == [option, "x"]


def test_an_unknown_column_is_a_matter_of_usage():
    ran = trueup("defects", "-c", "nosuch")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "trueup: --column: no column nosuch. There are: Defect, Severity, What it is, Remedy.\n"
    )


def test_an_unknown_column_is_found_before_anything_is_written(plan_file, small):
    before = small.rows()
    ran = trueup("apply", plan_file, "-c", "nosuch")
    assert (ran.code, ran.out) == (2, "")
    assert small.rows() == before


@pytest.fixture
def broken(monkeypatch):
    """A mistake of ours in a command."""

    def mistake():
        raise ZeroDivisionError("it broke\nin two lines")

    monkeypatch.setattr(defects, "defects_table", mistake)


def test_what_nobody_foresaw_is_one_line_and_code_1(broken):
    ran = trueup("defects")
    assert (ran.code, ran.out) == (1, "")
    [line] = ran.err.splitlines()
    assert line.startswith("trueup: an error inside Trueup: ZeroDivisionError: it broke in two")
    assert "--debug" in line


def test_with_debug_what_nobody_foresaw_has_its_traceback(broken):
    ran = trueup("--debug", "defects")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert "in mistake" in ran.err


@pytest.mark.parametrize(
    ("missing", "extra"),
    [
        ("keystoneauth1", "reconcile"),
        ("openstack", "reconcile"),
        ("msgspec", "reconcile"),
        ("falcon", "reconcile"),
        ("libvirt", "libvirt"),
    ],
)
def test_a_command_whose_half_is_not_installed_says_how_to_install_it(monkeypatch, missing, extra):
    monkeypatch.setitem(COMMANDS, "needy", "tests.cli.needy:Command")

    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name == "tests.cli.needy":
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    ran = trueup("needy")
    assert ran.code == 2
    assert ran.err == (f"trueup: this command needs '{missing}': pip install 'trueup[{extra}]'.\n")


def test_the_program_is_installed_and_gives_its_code_to_the_shell():
    program = [sys.executable, "-c", "from trueup.cli.main import main; raise SystemExit(main())"]
    ran = subprocess.run([*program, "journal", "nosuch"], capture_output=True, check=False)
    assert ran.returncode == 2


def test_ctrl_c_while_a_command_is_imported_ends_with_a_sentence(monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Commands, "find_command", press)
    ran = trueup("audit")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "trueup: stopped by Ctrl-C or SIGTERM; nothing further is written.\n"


@pytest.fixture
def noisy(monkeypatch):
    """A library that warns and logs in the middle of a command."""
    table = defects.defects_table

    def noise():
        warnings.warn("a library warns", UserWarning, stacklevel=1)
        logging.getLogger("a.library").error("a library logs an error")
        logging.getLogger("trueup.x").warning("we log a warning")
        return table()

    monkeypatch.setattr(defects, "defects_table", noise)


def test_libraries_are_silent_and_our_own_warnings_are_not(noisy):
    ran = trueup("defects", "broken-tree", "-f", "json")
    assert (ran.code, ran.err) == (0, "trueup.x: we log a warning\n")


def test_with_v_libraries_are_heard(noisy):
    with pytest.warns(UserWarning, match="a library warns"):
        ran = trueup("-v", "defects", "broken-tree", "-f", "json")
    assert "a.library: a library logs an error" in ran.err


def test_nothing_is_logged_unless_it_is_asked_for(nova_conf):
    quiet, reported = trueup("audit"), trueup("-vv", "audit")
    assert "GET" not in quiet.err
    assert "/trueup/export" in reported.err


def test_a_log_file_takes_what_is_logged(nova_conf, tmp_path):
    assert trueup("-vv", "--log-file", tmp_path / "log", "audit").code == 3
    assert "/trueup/export" in (tmp_path / "log").read_text()
