# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines: one line of usage, one sentence, and what was probably meant."""

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from cliff.command import Command

from trueup.exit_codes import ExitCode, table


class UsageParser(argparse.ArgumentParser):
    """A command's parser whose errors do not print the whole usage."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the whole command line; a word that nothing takes is an error."""
        parsed, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error(self._not_understood(rest))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message to standard error, and end with code 2."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(
            ExitCode.USAGE,
            f"{self._short_usage()}{self.prog}: error: {message}{end} "
            f"'{self.prog} --help' lists the options.\n",
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is no choice; name the one that is most like it."""
        likely = did_you_mean(str(value), map(str, action.choices or ()))
        if action.choices and value not in action.choices and likely:
            raise argparse.ArgumentError(action, f"there is no {value!r}{likely}")
        super()._check_value(action, value)

    def _not_understood(self, words: Sequence[str]) -> str:
        option = next((word for word in words if word.startswith("-")), None)
        if option is None:
            return f"too many words: {' '.join(words)}"
        name = option.partition("=")[0]
        if name in self._option_string_actions and (word := self._word_of_subcommands()):
            return f"the option {name} belongs before the word '{word}'"
        return f"there is no option {name}" + did_you_mean(name, self._option_string_actions)

    def _word_of_subcommands(self) -> str | None:
        """What stands for the subcommands; the options after one of them are not ours."""
        every = self._actions
        found = (
            action.metavar for action in every if isinstance(action, argparse._SubParsersAction)
        )
        return next((word for word in found if isinstance(word, str)), None)

    def _short_usage(self) -> str:
        """The usage with one word for all options."""
        formatter = argparse.HelpFormatter(prog=f"{self.prog} [options]")
        formatter.add_usage(None, self._get_positional_actions(), [])
        return formatter.format_help().rstrip("\n") + "\n"


class ShortErrors(Command):
    """A command whose errors are short, and whose help ends with the exit codes."""

    # argparse's own parsers know no other way.
    conflict_handler = "error"

    def get_epilog(self) -> str:
        """The exit codes. PERF: cliff's own way looks through all installed packages, 0.1 s."""
        return table()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Everything a command adds comes after this."""
        parser = with_short_errors(super().get_parser(prog_name))
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        return parser


def with_short_errors(parser: argparse.ArgumentParser) -> UsageParser:
    """A parser with the options and texts of `parser`, and with short errors."""
    return UsageParser(
        prog=parser.prog,
        description=parser.description,
        epilog=parser.epilog,
        formatter_class=parser.formatter_class,
        parents=[parser],
        add_help=False,
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question about the known word that is most like this one; nothing if none is."""
    likely = get_close_matches(word, list(known), n=1)
    return f". Did you mean {likely[0]}?" if likely else ""


def no_such_command(words: Sequence[str], commands: Iterable[str]) -> str:
    """What is wrong with a command line that no command takes, and what was probably meant."""
    first = words[0]
    if first.startswith("-"):
        return (
            f"trueup itself has no option {first.partition('=')[0]}. "
            "Options of a command come after its name: trueup COMMAND [options]."
        )
    known = sorted(commands)
    begun = [f"'{name}'" for name in known if name.startswith(f"{first} ")]
    if begun:
        return f"'{first}' is the first word of a command: {' or '.join(begun)}."
    likely = get_close_matches(" ".join(words[:2]), known, n=1, cutoff=0.8)
    likely = likely or get_close_matches(first, known, n=1)
    question = f" Did you mean '{likely[0]}'?" if likely else ""
    return f"there is no command '{first}'.{question} 'trueup help' lists the commands."
