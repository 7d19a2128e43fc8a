# SPDX-License-Identifier: Apache-2.0
"""Writes what helps at a shell: completions of bash, zsh and fish, and a man page for each command.

    python tools/command_pages.py [FOLDER]

They are made from the commands' own parsers whenever a wheel is built (`tools/distribution.py`).
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

import shtab

from trueup.cli.commands.complete import FILES
from trueup.cli.main import COMMANDS, Trueup
from trueup.exit_codes import ExitCode

REPOSITORY = Path(__file__).parents[1]
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
EXIT_TABLE = "exit codes:"
# Values that a shell completes with the names of files.
FOLDERS, PATHS = ("DIR",), ("FILE", "PATH")


def parsers(program: Trueup) -> dict[str, argparse.ArgumentParser]:
    """The parser of every command, by the command's name."""
    found = {}
    for name in COMMANDS:
        command, _, _ = program.command_manager.find_command(name.split())
        found[name] = command(program, program.parser).get_parser(f"trueup {name}")
        for action in found[name]._actions:
            if action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
            elif action.type is Path or action.metavar in PATHS:
                action.complete = shtab.FILE
    return found


def whole_parser(program: Trueup) -> argparse.ArgumentParser:
    """One parser of the program and its commands, as argparse nests them."""
    whole = argparse.ArgumentParser(prog="trueup", parents=[program.parser], add_help=False)
    below = {"": whole.add_subparsers(title="commands")}
    every = parsers(program)
    for name, parser in sorted(every.items()):
        *first, last = name.split()
        outer = " ".join(first)
        if outer not in below:
            group = every.get(outer) or argparse.ArgumentParser()
            made = below[""].choices.get(outer) or _add(below[""], outer, group)
            below[outer] = made.add_subparsers(title="commands")
        _add(below[outer], last, parser)
    return whole


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    parser: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    words = _summary(parser) if parser.description else f"the commands of {name}"
    return commands.add_parser(name, parents=[parser], add_help=False, help=words)


def completions(program: Trueup) -> dict[str, str]:
    """The completion of each shell, by the name of its file."""
    whole = whole_parser(program)
    return {f"{shell}/{name}": shtab.complete(whole, shell) for shell, name in FILES.items()}


def man_pages(program: Trueup) -> dict[str, str]:
    """The pages of section 1, by the names of their files."""
    every = parsers(program)
    names = sorted(_page_name(name) for name in every)
    pages = {"trueup.1": man_page("trueup", program.parser, names)}
    for name, parser in every.items():
        pages[f"{_page_name(name)}.1"] = man_page(f"trueup {name}", parser, ["trueup"])
    return pages


def man_page(command: str, parser: argparse.ArgumentParser, others: list[str]) -> str:
    """One page, in roff's man macros."""
    name = command.replace(" ", "-")
    words = [] if others == ["trueup"] else ["COMMAND ..."]
    for action in parser._get_positional_actions():
        words.append(_metavar(action))
    lines = [
        f'.TH {name.upper()} 1 "" "trueup {VERSION}" "Trueup"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(_summary(parser))}",
        ".SH SYNOPSIS",
        f".B {_roff(command)}",
        _roff(" ".join(["[options]", *words])),
        ".SH DESCRIPTION",
    ]
    for paragraph in re.split(r"\n\s*\n", parser.description or ""):
        lines += [".PP", _roff(" ".join(paragraph.split()))]
    for group in parser._action_groups:
        actions = [one for one in group._group_actions if one.help is not argparse.SUPPRESS]
        if actions:
            lines.append(f".SH {_roff((group.title or 'options').upper())}")
        for action in actions:
            lines += [".TP", _names(action), _help(action)]
    if EXIT_TABLE in (parser.epilog or ""):
        lines.append(".SH EXIT STATUS")
        for code in ExitCode:
            lines += [".TP", f".B {code.value}", _roff(code.meaning)]
    lines.append(".SH SEE ALSO")
    lines.append(",\n".join(f".BR {_roff(other)} (1)" for other in others))
    return "\n".join(lines) + "\n"


def _page_name(command: str) -> str:
    return f"trueup {command}".replace(" ", "-")


def _summary(parser: argparse.ArgumentParser) -> str:
    """The first paragraph of a description, as one line."""
    first, *_ = re.split(r"\n\s*\n", parser.description or "")
    return " ".join(first.split()).rstrip(".")


def _metavar(action: argparse.Action) -> str:
    shown = action.metavar or action.dest.upper()
    if isinstance(action.choices, list | tuple) and not action.metavar:
        shown = "{" + ",".join(map(str, action.choices)) + "}"
    return f"[{shown}]" if action.nargs in ("?", "*") else str(shown)


def _names(action: argparse.Action) -> str:
    """The line with the names of an option and of its value."""
    if not action.option_strings:
        return f"\\fI{_roff(_metavar(action))}\\fR"
    names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
    return names if action.nargs == 0 else f"{names} \\fI{_roff(_metavar(action))}\\fR"


def _help(action: argparse.Action) -> str:
    words = (action.help or "") % (vars(action) | {"prog": "trueup"})
    return _roff(" ".join(words.split()))


def _roff(text: str) -> str:
    """Text in which nothing is a command of roff, and dashes stay dashes."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main(folder: Path) -> None:
    program = Trueup()
    for place, files in (
        ("src/trueup/cli/completions", completions(program)),
        ("build/man", man_pages(program)),
    ):
        for name, text in files.items():
            path = folder / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else REPOSITORY)
