# SPDX-License-Identifier: Apache-2.0
"""trueup complete: the completion of a shell, made when the package was built."""

import argparse
from importlib.resources import files

from trueup.cli.terminal.usage import ShortErrors
from trueup.exit_codes import ExitCode

FILES = {"bash": "trueup", "fish": "trueup.fish", "zsh": "_trueup"}
_FOLDER = files("trueup.cli") / "completions"
_NOT_MADE = (
    "Completions are made when a wheel is built, and this is a source tree: "
    "run 'make demo' there once.\n"
)


class CompleteCommand(ShortErrors):
    """Print the completion of a shell: commands, options and their values."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--shell", choices=sorted(FILES), default="bash", help="(default: %(default)s)"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        file = _FOLDER / parsed_args.shell / FILES[parsed_args.shell]
        if not file.is_file():
            self.app.stderr.write(_NOT_MADE)
            return ExitCode.USAGE
        self.app.stdout.write(file.read_text(encoding="utf-8"))
        return ExitCode.CLEAN
