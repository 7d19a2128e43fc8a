# SPDX-License-Identifier: Apache-2.0
"""Why a query for candidates finds no host: over the database that the configuration names.

It only reads, also where upstream's service uses the database.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from trueup.model.errors import PlacementError
from trueup.model.requests import CandidateRequest
from trueup.placement import config
from trueup.placement.api.errors import Refused, refusal_of
from trueup.placement.api.versions import NEWEST, Malformed, Unacceptable, V, negotiate
from trueup.placement.api.wire import candidates
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.refresh import load
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.reads.newest_writes import consumers_written, providers_written
from trueup.placement.store.rows import providers
from trueup.placement.why.explain import Explanation, explain

Answer = TypeVar("Answer")
_QUERY = re.compile(r"/allocation_candidates\?(?P<query>[^\s\"'\\>]+)")
_VERSION = re.compile(r"(?:microversion:|OpenStack-API-Version: placement) (?P<version>1\.\d+)")


class QuestionUnusable(Exception):
    """The query, or what is to name it, cannot be used; the text says why."""


class LedgerAway(Exception):
    """The database does not answer; the text is that of its driver."""


@dataclass(frozen=True, slots=True)
class Question:
    """The query of a GET /allocation_candidates, and its microversion.

    `since`: also ask what was written since this moment, which is in UTC without a zone.
    """

    query: str
    version: V = NEWEST
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Writes:
    """How many consumers, and inventories of how many providers, were written since a moment."""

    consumers: int
    providers: int


@dataclass(frozen=True, slots=True)
class Reason:
    """An explanation, with the names of the hosts that it mentions.

    `writes` are those since the moment that the question names.
    """

    explanation: Explanation
    names: dict[str, str]
    writes: Writes | None = None


def question_of(query: str, microversion: str | None) -> Question:
    """What an operator typed: a query, or a URL with one. Raises QuestionUnusable."""
    text = query.rpartition("?")[2]
    if "=" not in text:
        raise QuestionUnusable(
            f"{query!r} is not a query. Write it as in "
            "'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX2'"
        )
    if microversion is None:
        return Question(text)
    try:
        return Question(text, negotiate(f"placement {microversion}"))
    except (Unacceptable, Malformed) as error:
        raise QuestionUnusable(f"microversion {microversion}: {error}") from error


def question_in(lines: Iterable[str], request_id: str) -> Question:
    """The last query for candidates that a log has with this request id.

    The log is Placement's, or that of Nova's scheduler where keystoneauth logs at the level DEBUG.
    Raises QuestionUnusable.
    """
    if not request_id:
        raise QuestionUnusable("--request-id is empty")
    asked = re.compile(rf"(?<![\w-]){re.escape(request_id)}(?![\w-])")
    found = None
    for line in lines:
        match = _QUERY.search(line) if asked.search(line) else None
        if match is None:
            continue
        version = _VERSION.search(line)
        if version is None and found is not None and found.query == match["query"]:
            # Of the lines that Nova's log has about one query, only the first has its microversion.
            continue
        found = question_of(match["query"], version["version"] if version else None)
    if found is None:
        raise QuestionUnusable(
            f"no line with {request_id} asks for allocation candidates. Name the log of Placement, "
            "or that of Nova's scheduler with keystoneauth=DEBUG in default_log_levels"
        )
    return found


def why(
    words: Sequence[str],
    database_url: str | None,
    question: Question,
    *,
    always_without: bool = False,
) -> Reason:
    """Explain a query over the database of placement.conf, or over another one.

    `words` are options of the command line, as --config-file. With `always_without`, also what is
    left without each filter where there are candidates. Raises QuestionUnusable, LedgerAway and
    ConfigurationUnusable.
    """
    with closing(open_ledger(words, database_url)) as database:
        return reason_in(database, question, always_without=always_without)


def open_ledger(words: Sequence[str], database_url: str | None) -> Database:
    """The database of placement.conf, or another one. Raises ConfigurationUnusable."""
    if database_url is not None:
        settings = config.from_mapping({"placement_database": {"connection": database_url}})
    else:
        settings = config.read(config.load(words))
    return config.open_to_read(settings, ", or the database itself with --database")


@contextmanager
def reading(database: Database) -> Iterator[Transaction]:
    """A block that reads one moment of a ledger. Raises LedgerAway and ConfigurationUnusable."""
    try:
        with database.reading(snapshot=True) as tx:
            yield tx
    except availability.DatabaseError as error:
        if availability.is_away(error):
            raise LedgerAway(availability.reason(error)) from error
        raise config.ConfigurationUnusable(
            f"the database cannot be read: {availability.reason(error)}"
        ) from error


def reason_in(database: Database, question: Question, *, always_without: bool = False) -> Reason:
    """Explain a query. Raises QuestionUnusable, LedgerAway and ConfigurationUnusable."""
    with _refusals_told(), reading(database) as tx:
        explanation = explain(_request(question), load(tx), always_without=always_without)
        return Reason(explanation, _names(tx, explanation), _writes(tx, question.since))


def answer_in(
    database: Database, question: Question, answer: Callable[[CandidateRequest, View], Answer]
) -> Answer:
    """What a function says about a query and a ledger.

    Raises QuestionUnusable, LedgerAway and ConfigurationUnusable.
    """
    with _refusals_told(), reading(database) as tx:
        return answer(_request(question), load(tx))


def _request(question: Question) -> CandidateRequest:
    return candidates.parse(parse_qsl(question.query, keep_blank_values=True), question.version)


@contextmanager
def _refusals_told() -> Iterator[None]:
    """A block in which what the service would refuse raises QuestionUnusable."""
    try:
        yield
    except Refused as refused:
        # What follows the first line is the schema of the whole query.
        raise QuestionUnusable(refused.detail.partition("\n")[0]) from refused
    except PlacementError as error:
        raise QuestionUnusable(refusal_of(error, _HANDLER, {}).detail) from error


_HANDLER = "list_candidates"


def _writes(tx: Transaction, since: datetime | None) -> Writes | None:
    if since is None:
        return None
    return Writes(consumers_written(tx, since), providers_written(tx, since))


def _names(tx: Transaction, explanation: Explanation) -> dict[str, str]:
    uuids = {miss.root_uuid for step in explanation.steps for miss in step.nearest}
    found: dict[str, Any] = {uuid: providers.of_uuid(tx, uuid) for uuid in uuids}
    return {uuid: provider.name for uuid, provider in found.items() if provider is not None}
