# SPDX-License-Identifier: Apache-2.0
"""trueup explain: what is known about one subject, in sentences."""

import argparse
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from trueup.cli.documents import DocumentVerb
from trueup.cli.judging import add_audit_options, audit_options
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.progress import progress
from trueup.cli.terminal.tables import line_width
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.collect import collect, with_holdings
from trueup.reconcile.collect.selection import Selection, chosen
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.story import Story
from trueup.reconcile.report.story_subjects import KINDS, story, uuid_of
from trueup.reconcile.report.tables import Table
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.cloud import Cloud

_COLUMNS = ("About", "Sentence")


class ExplainCommand(DocumentVerb, CloudVerb):
    """Show what is known of an instance, provider, consumer or host; and what a plan changes."""

    COLUMNS = _COLUMNS
    _story: Story

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("kind", choices=KINDS, help="the kind of the subject")
        parser.add_argument(
            "name", metavar="NAME", help="its name or uuid; for a consumer, its uuid"
        )
        add_audit_options(parser)
        add_from_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        self._story = story(*self._observe(arguments))
        if self._story.incomplete:
            self.exit_code = ExitCode.INCOMPLETE
        elif self._story.findings:
            self.exit_code = ExitCode.FINDINGS
        rows = [
            (section.about, words)
            for section in self._story.sections
            for words in section.sentences
        ]
        return _COLUMNS, [tuple(row) for row in rows]

    def document(self) -> Mapping[str, Any]:
        return self._story.document()

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, rows: Any) -> int:
        asks_for_rows = parsed_args.columns or parsed_args.sort_columns
        if parsed_args.formatter != "table" or asks_for_rows:
            return super().produce_output(parsed_args, column_names, rows)
        width = line_width(parsed_args)
        self.app.stdout.writelines(f"{line}\n" for line in _lines(self._story, width))
        return 0

    def _observe(self, arguments: argparse.Namespace) -> tuple[str, str, Observation]:
        options = audit_options(arguments)
        kind, name = arguments.kind, arguments.name
        if arguments.snapshot:
            every = load(arguments.snapshot).facts
            uuid = uuid_of(kind, name, every)
            return kind, uuid, observation(chosen(every, _only(kind, uuid)), options)
        with self.cloud(arguments) as cloud, progress() as report:
            uuid = name
            if kind == "instance" and not _is_uuid(name):
                uuid = uuid_of(kind, name, collect(cloud, report))
            seen = Observer(cloud, options, report, _only(kind, uuid)).observe()
            found = uuid_of(kind, uuid, seen.facts)
            if kind == "host" and found != uuid:
                # The name was that of its compute node; instances are selected by the host's name.
                seen = Observer(cloud, options, report, _only(kind, found)).observe()
            uuid = found
            return kind, uuid, Observation(_with_owners(seen.facts, uuid, cloud), seen.audit)


def _with_owners(facts: Facts, uuid: str, cloud: Cloud) -> Facts:
    """The facts, with the owner that Placement has for the consumers of the subject."""
    moves = facts.record(uuid).moves
    return with_holdings(facts, cloud, {uuid, *moves} & facts.consumers.keys())


def _only(kind: str, uuid: str) -> Selection:
    named: dict[str, Any] = {f"{kind}s": frozenset([uuid])}
    return Selection(**named)


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def _lines(one: Story, width: int) -> Iterator[str]:
    title = f"{one.subject.kind} {one.name}"
    yield title if one.name == one.subject.uuid else f"{title} ({one.subject.uuid})"
    for section in one.sections:
        yield ""
        yield section.about
        for sentence in section.sentences:
            yield from textwrap.wrap(
                sentence,
                width or len(sentence) + 4,
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
