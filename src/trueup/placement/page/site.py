# SPDX-License-Identifier: Apache-2.0
"""The paths of the pages. Each request reads the ledger again, and nothing is written.

SAFETY: there is no authentication. A hostile page in the operator's browser must not read this one.
So no other site may load or frame these pages, and a request with an unknown Host header is
refused: a hostile domain may resolve to the loopback interface (DNS rebinding).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

from trueup.placement import why
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.page import html, searches, views
from trueup.placement.store.engine.database import Database
from trueup.web.server import HTML, Answer, Request

STYLE = "/style.css"
_CSS = "text/css; charset=utf-8"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_WORDS_MAX = 255
_QUERY_MAX = 8000
_PAGES_MAX = 1_000_000
# Seconds that a query for candidates waits for another one: each loads the whole ledger.
_WAIT_SECONDS = 20


@dataclass(eq=False)
class _NothingToShow(Exception):
    """There is no page to show; the text is the reason."""

    status: HTTPStatus
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one ledger. Safe to ask from several threads."""

    database: Database
    hosts: Collection[str] | None
    """The Host headers that are accepted; None accepts all."""
    version: str
    log: Path | None = None
    """The log of the service, for the searches that found nothing, and for the load."""
    load_of: Callable[[Path], object] | None = None
    """Sums up who asks how much, for the template."""
    _asking: Lock = field(default_factory=Lock)

    def answer(self, asked: Request) -> Answer:
        """The page for a request, or a page with the reason why there is none."""
        if self.hosts is not None and not _is_for(asked.host, self.hosts):
            # The answer shows nothing of the ledger.
            text = f"this page is not served as {asked.host}. Ask for it by the address it prints."
            return Answer(f"{text}\n".encode(), status=HTTPStatus.MISDIRECTED_REQUEST)
        if asked.path == STYLE:
            return Answer(html.style(), _CSS, headers=_HEADERS)
        try:
            found = self._page(asked.path, _values(asked.query))
        except _NothingToShow as reason:
            found = self._message(reason.status, reason.text)
        except why.LedgerAway as error:
            text = f"The database does not answer: {error}"
            found = self._message(HTTPStatus.SERVICE_UNAVAILABLE, text)
        except ConfigurationUnusable as error:
            text = str(error)
            found = self._message(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"{text[:1].upper()}{text[1:]}."
            )
        return replace(found, headers=_HEADERS)

    def _page(self, path: str, values: Mapping[str, str]) -> Answer:
        match [unquote(part) for part in path.strip("/").split("/")]:
            case [""]:
                return self._trees(_page_number(values))
            case ["capacity"]:
                with why.reading(self.database) as tx:
                    return self._html("capacity.html", usages=views.capacity(tx))
            case ["search"]:
                return self._search(values.get("q", "").replace("\0", "").strip())
            case ["provider", uuid]:
                return self._provider(uuid.replace("\0", ""), _page_number(values))
            case ["consumer", uuid]:
                return self._consumer(uuid.replace("\0", ""))
            case ["why"]:
                return self._why(values.get("query", ""), values.get("microversion", ""))
            case ["searches"]:
                found = self._of_log(searches.last_searches)
                return self._html(
                    "searches.html", shapes=found, log=self.log, most=searches.SHOWN_MAX
                )
            case ["load"]:
                return self._html("load.html", found=self._of_log(self.load_of), log=self.log)
        raise _NothingToShow(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _of_log(self, read: Callable[[Path], object] | None) -> object:
        """What this function reads in the log; None without either."""
        try:
            return read(self.log) if read and self.log else None
        except OSError as error:
            text = f"{self.log} cannot be read: {error.strerror}"
            raise _NothingToShow(HTTPStatus.INTERNAL_SERVER_ERROR, text) from error

    def _trees(self, number: int) -> Answer:
        with why.reading(self.database) as tx:
            found = views.tree_list(tx, number)
        return self._html("trees.html", found=found)

    def _search(self, words: str) -> Answer:
        if len(words) > _WORDS_MAX:
            raise _NothingToShow(
                HTTPStatus.BAD_REQUEST, f"Search for at most {_WORDS_MAX} characters."
            )
        with why.reading(self.database) as tx:
            found = views.search(tx, words)
        return self._html("search.html", found=found, most=views.FOUND_MAX, words=words)

    def _provider(self, uuid: str, number: int) -> Answer:
        with why.reading(self.database) as tx:
            found = views.provider_view(tx, uuid, number)
        if found is None:
            raise _NothingToShow(HTTPStatus.NOT_FOUND, f"The ledger has no provider {uuid}.")
        return self._html("provider.html", found=found, most=views.MEMBERS_MAX)

    def _consumer(self, uuid: str) -> Answer:
        with why.reading(self.database) as tx:
            found = views.consumer_view(tx, uuid)
        if found is None:
            text = f"Consumer {uuid} holds nothing, and the ledger has no row of it."
            raise _NothingToShow(HTTPStatus.NOT_FOUND, text)
        return self._html("consumer.html", found=found, most=views.HOLDINGS_MAX)

    def _why(self, query: str, microversion: str) -> Answer:
        """The form, and below it the answer, or the reason why there is none."""
        reason, refused = None, ""
        try:
            if len(query) > _QUERY_MAX:
                raise why.QuestionUnusable(f"the query is longer than {_QUERY_MAX} characters")
            if query.strip():
                reason = self._reason(why.question_of(query.strip(), microversion.strip() or None))
        except why.QuestionUnusable as error:
            refused = str(error)
        status = HTTPStatus.BAD_REQUEST if refused else HTTPStatus.OK
        shown = {"query": query, "microversion": microversion, "reason": reason}
        return replace(self._html("why.html", **shown, refused=refused), status=status)

    def _reason(self, question: why.Question) -> why.Reason:
        if not self._asking.acquire(timeout=_WAIT_SECONDS):
            text = "Another question about candidates is still being answered: ask again."
            raise _NothingToShow(HTTPStatus.SERVICE_UNAVAILABLE, text)
        try:
            return why.reason_in(self.database, question)
        finally:
            self._asking.release()

    def _message(self, status: HTTPStatus, text: str) -> Answer:
        return replace(self._html("message.html", title=status.phrase, text=text), status=status)

    def _html(self, template: str, **values: object) -> Answer:
        shown = {"words": "", "version": self.version, **values}
        return Answer(html.page(template, **shown), HTML)


def _is_for(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names one of these. Every browser sends the header."""
    try:
        return not host or urlsplit(f"//{host}").hostname in names
    except ValueError:
        return False


def _values(query: str) -> dict[str, str]:
    """The last value of each name."""
    try:
        return {name: given[-1] for name, given in parse_qs(query, max_num_fields=20).items()}
    except ValueError as error:
        raise _NothingToShow(
            HTTPStatus.BAD_REQUEST, f"The query cannot be read: {error}."
        ) from error


def _page_number(values: Mapping[str, str]) -> int:
    text = values.get("page", "1")
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _PAGES_MAX):
        raise _NothingToShow(HTTPStatus.BAD_REQUEST, f"'{text[:20]}' is not the number of a page.")
    return int(text[:9])
