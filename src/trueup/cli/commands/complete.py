# SPDX-License-Identifier: Apache-2.0
"""trueup complete: the completion of a shell. `tools/command_pages.py` makes these files."""

import argparse
from importlib.resources import files

from cliff.command import Command

from trueup.cli.terminal.usage import with_short_errors
from trueup.exit_codes import table

FILES = {"bash": "trueup", "fish": "trueup.fish", "zsh": "_trueup"}
_FOLDER = files("trueup.cli") / "completions"


class CompleteCommand(Command):
    """Print the completion of a shell: commands, options and their values."""

    # argparse's own parsers know no other way.
    conflict_handler = "error"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = with_short_errors(super().get_parser(prog_name))
        parser.epilog = table()
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument(
            "--shell", choices=sorted(FILES), default="bash", help="(default: %(default)s)"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.app.stdout.write(completion(parsed_args.shell))


def completion(shell: str) -> str:
    """The completion of a shell, in the shell's own language."""
    return (_FOLDER / shell / FILES[shell]).read_text(encoding="utf-8")
