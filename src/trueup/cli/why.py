# SPDX-License-Identifier: Apache-2.0
"""trueup why: which hosts each filter of a query for candidates leaves out."""

import argparse
from pathlib import Path
from typing import Any

from cliff.columns import FormattableColumn
from cliff.lister import Lister

from trueup.cli.options import OptionRefused, add_placement_options, placement_words
from trueup.cli.progress import complain, say
from trueup.cli.usage import with_short_errors
from trueup.exit_codes import ExitCode, table
from trueup.placement import why, why_words
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.index.why.explain import Step

COLUMNS = ("Filter", "Hosts left", "Left without it", "Nearest that it leaves out")


class Lines(FormattableColumn[list[str]]):
    """A cell of several lines: a list in JSON."""

    def human_readable(self) -> str:
        return "\n".join(self._value)


class WhyCommand(Lister):
    """Why a query finds no host: how many are left after each filter, and what others lack.

    QUERY is that of GET /allocation_candidates: 'resources=VCPU:4&required=HW_CPU_X86_AVX2'. The
    ledger is read from Placement's database; nothing is written.
    """

    # argparse's own parsers know no other way.
    conflict_handler = "error"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = with_short_errors(super().get_parser(prog_name))
        parser.epilog = table()
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("query", metavar="QUERY", nargs="?", help="the query, or a URL with it")
        _add_question(parser)
        add_placement_options(parser.add_argument_group("which ledger"))
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        self.exit_code = ExitCode.CLEAN
        try:
            super().run(parsed_args)
        except OptionRefused as error:
            complain(error.reason)
            return ExitCode.USAGE
        except (why.QuestionUnusable, ConfigurationUnusable) as error:
            complain(str(error))
            return ExitCode.USAGE
        except why.LedgerAway as error:
            complain(f"the database does not answer: {error}")
            return ExitCode.INCOMPLETE
        return self.exit_code

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """One row for each filter."""
        question = _question(parsed_args)
        words = placement_words(parsed_args)
        reason = why.why(words, parsed_args.database, question)
        found = reason.explanation
        if not found.left:
            self.exit_code = ExitCode.FINDINGS
        say(why_words.verdict(found))
        first = ("all hosts", found.hosts, "", Lines([]))
        return COLUMNS, [first, *(_row(step, reason.names) for step in found.steps)]


def _add_question(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from-log",
        metavar="FILE",
        type=Path,
        help="take the query from the log of Placement, or of Nova's scheduler at the level DEBUG",
    )
    parser.add_argument(
        "--request-id", metavar="ID", help="the ID of the request in the log: req-..."
    )
    parser.add_argument(
        "--microversion", metavar="1.N", help="of the query, as in 1.39 (default: the newest)"
    )


def _question(arguments: argparse.Namespace) -> why.Question:
    if (arguments.from_log is None) != (arguments.request_id is None):
        raise why.QuestionUnusable("--from-log and --request-id are only of use together")
    if (arguments.query is None) == (arguments.from_log is None):
        raise why.QuestionUnusable("name a query, or a log and a request id, and not both")
    if arguments.from_log is None:
        return why.question_of(arguments.query, arguments.microversion)
    if arguments.microversion is not None:
        raise why.QuestionUnusable("--microversion would be ignored: the log has it")
    try:
        lines = arguments.from_log.read_text(errors="replace").splitlines()
    except OSError as error:
        raise why.QuestionUnusable(
            f"{arguments.from_log} cannot be read: {error.strerror}"
        ) from error
    found = why.question_in(lines, arguments.request_id)
    say(f"asked: {found.query}")
    return found


def _row(step: Step, names: dict[str, str]) -> tuple[Any, ...]:
    near = [f"{names.get(miss.root_uuid, miss.root_uuid)}: {miss.lacks}" for miss in step.nearest]
    more = step.lost - len(near)
    words = [*near, f"and {more} more"] if more > 0 else near
    without = "" if step.left_without is None else step.left_without
    return why_words.text_of(step.filter), step.left, without, Lines(words)
