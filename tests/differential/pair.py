# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement and Trueup's on two databases with equal content; both get each request."""

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import webob

from tests.differential.calls import Call, Draft
from tests.servers import upstream
from tests.servers.placement import NOAUTH
from trueup.placement import app as trueup

EMPTY, IN_USE = "empty.sqlite", "in-use.sqlite"
HEADERS = ("content-type", "cache-control", "openstack-api-version", "vary", "location", "allow")
# A time, equal only in that both have it.
PRESENT_OR_NOT = ("last-modified",)
TABLES = {
    "providers": """
        SELECT p.uuid, p.name, p.generation, parent.uuid, root.uuid FROM resource_providers p
        LEFT JOIN resource_providers parent ON parent.id = p.parent_provider_id
        LEFT JOIN resource_providers root ON root.id = p.root_provider_id""",
    "inventories": """
        SELECT p.uuid, c.name, total, reserved, min_unit, max_unit, step_size, allocation_ratio
        FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id
        JOIN resource_classes c ON c.id = i.resource_class_id""",
    "allocations": """
        SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
        JOIN resource_providers p ON p.id = a.resource_provider_id
        JOIN resource_classes c ON c.id = a.resource_class_id""",
    "consumers": """
        SELECT c.uuid, c.generation, p.external_id, u.external_id, t.name FROM consumers c
        LEFT JOIN projects p ON p.id = c.project_id LEFT JOIN users u ON u.id = c.user_id
        LEFT JOIN consumer_types t ON t.id = c.consumer_type_id""",
    "provider traits": """
        SELECT p.uuid, t.name FROM resource_provider_traits r JOIN traits t ON t.id = r.trait_id
        JOIN resource_providers p ON p.id = r.resource_provider_id""",
    "provider aggregates": """
        SELECT p.uuid, a.uuid FROM resource_provider_aggregates r
        JOIN placement_aggregates a ON a.id = r.aggregate_id
        JOIN resource_providers p ON p.id = r.resource_provider_id""",
    "traits": "SELECT name FROM traits",
    "resource classes": "SELECT name FROM resource_classes",
}
# After these words comes whichever of several faults was seen first: jsonschema's, with the schema,
# of a set of unknown traits the one that Python happens to give first, or of a name and a UUID that
# are both taken the one whose index the database looks at first.
FIRST_OF_SEVERAL = re.compile(
    r"(JSON does not validate|Invalid query string parameters|No such trait\(s\)"
    r"|Conflicting resource provider)"
)
# Upstream tells a client the SQL that failed; ours says the same in words.
SQL_IN_THE_DETAIL = "(sqlite3."
# PARITY: a refused PUT /allocations of upstream can leave a consumer that holds nothing and is in
# the way of every later PUT. Ours does not, so upstream's are swept before the next request.
SWEEP = "DELETE FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)"


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of a response that must be equal."""

    status: int
    headers: dict[str, str | None]
    body: Any


class Difference(AssertionError):
    """The two answered differently, or ended with different tables."""


class Pair:
    """Both services; every request goes to one and then the other."""

    def __init__(
        self, upstreams: Callable, ours: Callable, folder: Path, sent_before: Sequence[Call]
    ):
        self._applications = {"upstream": upstreams, "trueup": ours}
        self._rows = sqlite3.connect(folder / "upstream.sqlite", isolation_level=None)
        self._our_rows = sqlite3.connect(folder / "trueup.sqlite", isolation_level=None)
        self.our_database_url = f"sqlite:///{folder / 'trueup.sqlite'}"
        self._sent = list(sent_before)

    def send(self, draft: Draft) -> Call:
        return self._both(draft)[0]

    def answer(self, draft: Draft) -> Answer:
        """What both answer, with lists in any order."""
        return self._both(draft)[1]

    def _both(self, draft: Draft) -> tuple[Call, Answer]:
        call = draft.call(self)
        self._sent.append(call)
        answers = {name: ask(app, call) for name, app in self._applications.items()}
        self._rows.execute(SWEEP)
        if SQL_IN_THE_DETAIL in str(answers["upstream"].body):
            answers = {name: _without_details(answer) for name, answer in answers.items()}
        self._compare(answers)
        return call, answers["trueup"]

    def compare_tables(self) -> None:
        for name, query in TABLES.items():
            self._compare(
                {
                    "upstream": {name: _rows_of(self._rows, query)},
                    "trueup": {name: _rows_of(self._our_rows, query)},
                }
            )

    def close(self) -> None:
        self._rows.close()
        self._our_rows.close()

    def provider_generation(self, provider: str) -> int:
        query = "SELECT generation FROM resource_providers WHERE uuid = ?"
        found = self._rows.execute(query, (provider,)).fetchone()
        return found[0] if found else 0

    def consumer_generation(self, consumer: str) -> int | None:
        query = "SELECT generation FROM consumers WHERE uuid = ?"
        found = self._rows.execute(query, (consumer,)).fetchone()
        return found[0] if found else None

    def _compare(self, results: dict[str, Any]) -> None:
        if results["upstream"] != results["trueup"]:
            lines = ["after these requests", *(f"    {call}" for call in self._sent)]
            lines += [f"{name} says {result}" for name, result in results.items()]
            raise Difference("\n".join(lines))


class TwinFactory:
    """Makes pairs quickly: both databases are copies of one that is ready, empty or in use."""

    def __init__(self, folder: Path, ledger: Sequence[Draft]):
        self._folder = folder
        url = f"sqlite:///{folder / EMPTY}"
        upstream.create_tables(url)
        upstream.make_app(url, NOAUTH).close()
        self._ledger: list[Call] = []
        with self.pair() as pair:
            for draft in ledger:
                self._ledger.append(pair.send(draft))
        shutil.copyfile(folder / "upstream.sqlite", folder / IN_USE)

    @contextlib.contextmanager
    def pair(self, *, in_use: bool = False) -> Iterator[Pair]:
        with contextlib.ExitStack() as stack:
            applications = []
            for name, make_app in (("upstream", upstream.make_app), ("trueup", trueup.make_app)):
                path = self._folder / f"{name}.sqlite"
                for leftover in self._folder.glob(f"{name}.sqlite*"):
                    leftover.unlink()
                shutil.copyfile(self._folder / (IN_USE if in_use else EMPTY), path)
                application = make_app(f"sqlite:///{path}", NOAUTH)
                stack.callback(application.close)
                applications.append(application)
            pair = Pair(*applications, self._folder, self._ledger if in_use else [])
            stack.callback(pair.close)
            yield pair


def ask(application: Callable, call: Call) -> Answer:
    request = webob.Request.blank(call.path, method=call.method)
    request.host = "placement.example"
    request.headers["x-auth-token"] = "admin"
    request.headers["x-roles"] = "admin,service"  # only a service may reshape
    request.headers["accept"] = "application/json"
    if call.version:
        request.headers["openstack-api-version"] = f"placement {call.version}"
    if call.text is not None:
        request.body = call.text.encode()
        request.headers["content-type"] = "application/json"
    response = request.get_response(application)
    headers = {name: response.headers.get(name) for name in HEADERS}
    if response.status_code >= 400:
        # Upstream forgets it on refusals; saying it there as well does no harm.
        headers.pop("vary")
    headers |= {name: str(name in response.headers) for name in PRESENT_OR_NOT}
    return Answer(response.status_code, headers, _comparable(response.body))


def _comparable(body: bytes) -> Any:
    try:
        document = json.loads(body)
    except ValueError:
        return body.decode()
    if isinstance(document, dict) and "errors" in document:
        return [_error(error) for error in document["errors"]]
    return unordered(document)


def _error(error: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from request to request, and with the detail's words in any order.

    Upstream prints sets in the order that Python happens to give them.
    """
    detail, *complaint = FIRST_OF_SEVERAL.split(error["detail"], maxsplit=1)
    words = sorted(re.findall(r"[^\s,']+", detail))
    return {**error, "request_id": None, "detail": [*words, *complaint[:1]]}


def _without_details(answer: Answer) -> Answer:
    errors = answer.body if isinstance(answer.body, list) else [{"body": answer.body}]
    return replace(answer, body=[{**error, "detail": None} for error in errors])


def unordered(value: Any) -> Any:
    """The order of lists has no meaning in Placement's answers."""
    if isinstance(value, dict):
        return {key: unordered(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((unordered(part) for part in value), key=_spelled)
    return value


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _rows_of(connection: sqlite3.Connection, query: str) -> list[tuple]:
    return sorted(connection.execute(query).fetchall(), key=repr)
