# SPDX-License-Identifier: Apache-2.0
"""trueup why: which hosts each filter of a query for candidates leaves out."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cliff.columns import FormattableColumn
from cliff.lister import Lister

from trueup.cli.terminal.options import (
    OptionRefused,
    add_placement_options,
    placement_words,
    refuse_columns,
)
from trueup.cli.terminal.progress import complain, say
from trueup.cli.terminal.usage import ShortErrors
from trueup.exit_codes import ExitCode
from trueup.placement import why
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.why.explain import Explanation, Step

if TYPE_CHECKING:
    from trueup.cli.commands.why_server import AskedServer
    from trueup.reconcile.scheduling import FilterStep

COLUMNS = ("Filter", "Hosts left", "Left without it", "Nearest that it leaves out")


@dataclass(eq=False)
class _CloudFailed(Exception):
    """Nova or Glance could not be read: the exit code, and the sentence that says why."""

    code: ExitCode
    sentence: str


class Lines(FormattableColumn[list[str]]):
    """A cell of several lines: a list in JSON."""

    def human_readable(self) -> str:
        return "\n".join(self._value)


class WhyCommand(ShortErrors, Lister):
    """Say why a query finds no host: how many are left after each filter, and what others lack.

    QUERY is that of GET /allocation_candidates: 'resources=VCPU:4&required=HW_CPU_X86_AVX2'. It may
    also come from a log, or be made of a flavor and an image. With --server, Nova's databases have
    the query, and Nova's own filters follow. The ledger is read from Placement's database; nothing
    is written.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
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
        except _CloudFailed as error:
            complain(error.sentence)
            return error.code
        return self.exit_code

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """One row for each filter."""
        refuse_columns([*parsed_args.columns, *(parsed_args.sort_columns or [])], COLUMNS)
        words = placement_words(parsed_args)
        _refuse_two_questions(parsed_args)
        if parsed_args.server is not None:
            return COLUMNS, self._of_server(parsed_args, words)
        question = _question(parsed_args)
        reason = why.why(words, parsed_args.database, question)
        found = reason.explanation
        if not found.left:
            self.exit_code = ExitCode.FINDINGS
        say(why.verdict(found))
        return COLUMNS, [_all(found), *(_row(step, reason.names) for step in found.steps)]

    def _of_server(self, arguments: argparse.Namespace, words: list[str]) -> list[tuple[Any, ...]]:
        """The rows of Placement's filters, and then those of Nova's."""
        asked = _ask_server(arguments)

        def answer(query: str) -> why.Reason:
            question = _asked(why.question_of(query, None))
            question = replace(question, since=asked.since)
            try:
                return why.why(words, arguments.database, question, always_without=True)
            except why.QuestionUnusable as error:
                raise why.QuestionUnusable(
                    f"Placement refuses the query, so Nova finds no host: {error}"
                ) from error

        reason = answer(asked.query.text)
        found, candidates = reason.explanation, {*reason.explanation.with_candidates}
        again: list[tuple[Any, ...]] = []
        if asked.query.fallback:
            candidates |= {*answer(asked.query.fallback).explanation.with_candidates}
            again = [("the same with VCPU for PCPU", len(candidates), "", Lines([]))]
        result = asked.filtered(sorted(candidates))
        for line in asked.remarks(result, len(candidates), reason.writes):
            say(line)
        say(asked.verdict(result, len(candidates)) or why.verdict(found))
        self.exit_code = asked.code(result)
        steps = [
            _row(step, reason.names, len(result.passing.intersection(step.without or ())))
            for step in found.steps
        ]
        rows = [*steps, *again, *map(_row_of_nova, result.steps)]
        hopeless = not result.left
        return [_all(found), *(row if hopeless else (*row[:2], "", row[3]) for row in rows)]


def _add_question(parser: argparse.ArgumentParser) -> None:
    server = parser.add_argument_group("the query of a server, and the filters of Nova's scheduler")
    server.add_argument(
        "--server", metavar="UUID", type=str.lower, help="a server that found no host"
    )
    server.add_argument(
        "--move",
        metavar="MOVE",
        help="where it may move: live-migration, resize:FLAVOR, evacuate or unshelve",
    )
    server.add_argument(
        "--port",
        metavar="UUID",
        action="append",
        default=[],
        help="a port that it was to get, if it was never on a host; repeatable. Neutron says what "
        "the port asks for",
    )
    server.add_argument(
        "--nova-conf",
        metavar="FILE",
        type=Path,
        help="nova.conf of nova-scheduler, with [api_database] and [filter_scheduler] "
        "(default: $TRUEUP_NOVA_CONF or /etc/nova/nova.conf)",
    )
    parser.add_argument(
        "--from-log",
        metavar="FILE",
        type=Path,
        help="take the query from the log of Placement, or from that of Nova's scheduler with "
        "keystoneauth=DEBUG in default_log_levels",
    )
    parser.add_argument(
        "--request-id",
        metavar="ID",
        help="the ID of the request, as `openstack server event list` prints it: req-...",
    )
    parser.add_argument(
        "--microversion", metavar="1.N", help="of the query, as in 1.39 (default: the newest)"
    )
    group = parser.add_argument_group("the query of a flavor, as Nova's scheduler makes it")
    group.add_argument("--flavor", metavar="NAME", help="a flavor of Nova's, by name or id")
    group.add_argument("--image", metavar="NAME", help="an image of Glance's, by name or id")
    group.add_argument("--volume", action="store_true", help="the root disk is a volume")
    group.add_argument(
        "--os-cloud", metavar="NAME", help="a cloud of clouds.yaml (default: the OS_* environment)"
    )


def _refuse_two_questions(arguments: argparse.Namespace) -> None:
    if (arguments.from_log is None) != (arguments.request_id is None):
        raise why.QuestionUnusable("--from-log and --request-id are only of use together")
    named = (arguments.query, arguments.from_log, arguments.flavor, arguments.server)
    if sum(given is not None for given in named) != 1:
        raise why.QuestionUnusable(
            "name a query, or a log and a request id, or a flavor, or a server: only one"
        )
    if arguments.server is None and (arguments.move or arguments.nova_conf or arguments.port):
        raise why.QuestionUnusable("--move, --port and --nova-conf are only of use with --server")
    if arguments.server is not None and arguments.microversion is not None:
        raise why.QuestionUnusable("--microversion would be ignored: Nova chooses it")
    if arguments.flavor is None and (arguments.image or arguments.volume or arguments.os_cloud):
        raise why.QuestionUnusable("--image, --volume and --os-cloud are only of use with --flavor")


def _question(arguments: argparse.Namespace) -> why.Question:
    if arguments.flavor is not None:
        return _asked(why.question_of(_query_of_flavor(arguments), arguments.microversion))
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
    return _asked(why.question_in(lines, arguments.request_id))


def _asked(question: why.Question) -> why.Question:
    say(f"asked: {question.query}")
    return question


def _query_of_flavor(arguments: argparse.Namespace) -> str:
    from trueup.cli.commands.why_flavor import FlavorRefused, query_of_flavor

    with _other_half(FlavorRefused):
        return query_of_flavor(
            arguments.flavor,
            arguments.image,
            arguments.os_cloud,
            volume_backed=arguments.volume,
        )


def _ask_server(arguments: argparse.Namespace) -> "AskedServer":
    from trueup.cli.commands.why_server import ServerRefused, ask

    with _other_half(ServerRefused):
        return ask(arguments.nova_conf, arguments.server, arguments.move, arguments.port)


@contextmanager
def _other_half(refused: type[Exception]) -> Iterator[None]:
    """Around what asks the other half of Trueup, which need not be installed."""
    try:
        yield
    except refused as error:
        raise why.QuestionUnusable(str(error)) from error
    except Exception as error:
        # PERF: it imports what all commands may raise, 0.2 s.
        from trueup.cli.exits import explained

        known = explained(error)
        if known is None:
            raise
        raise _CloudFailed(*known) from error


def _all(found: Explanation) -> tuple[Any, ...]:
    return "all hosts", found.hosts, "", Lines([])


def _row(step: Step, names: dict[str, str], without: int | None = None) -> tuple[Any, ...]:
    near = [f"{names.get(miss.root_uuid, miss.root_uuid)}: {miss.lacks}" for miss in step.nearest]
    left = step.left_without if without is None else without
    more = _more(near, step.lost)
    return why.text_of(step.filter), step.left, "" if left is None else left, Lines(near + more)


def _row_of_nova(step: "FilterStep") -> tuple[Any, ...]:
    near = [f"{name}: {lacks}" for name, lacks in step.nearest]
    near += _more(near, step.lost)
    if step.open:
        near.append(f"not judged: {sum(number for _, number in step.open)} of those left")
    return step.name, step.left, step.left_without or 0, Lines(near)


def _more(near: list[str], lost: int) -> list[str]:
    return [f"and {lost - len(near)} more"] if lost > len(near) else []
