# SPDX-License-Identifier: Apache-2.0
"""The ledger's guarantees: no overcommit, all or nothing, and the cost of a claim."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select

from tests.placement.client import UUID, Client, claim
from trueup.placement.store import tables

HOST, OTHER = 1, 2


def used(client: Client, provider: int, resource_class: str = "VCPU") -> int:
    reply = client.get(f"/resource_providers/{UUID(provider)}/usages")
    return reply.json["usages"][resource_class]


def rows(client: Client, table: Any) -> int:
    with client.application.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(table))


def test_usage_never_grows_above_capacity(serve: Callable[..., Client], ledger_url: str) -> None:
    """Invariant 1: with many writers and two services over one database."""
    services = [serve(ledger_url), serve(ledger_url)]
    services[0].make_provider(HOST, inventories={"VCPU": 7, "MEMORY_MB": 100})
    services[0].make_provider(OTHER, inventories={"VCPU": 5, "MEMORY_MB": 100})

    def try_to_claim(number: int) -> int:
        client = services[number % 2]
        places = [HOST, OTHER] if number % 3 else [OTHER, HOST]
        amounts = {place: {"VCPU": 1, "MEMORY_MB": 1} for place in places}
        return client.claim(100 + number, amounts).status

    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(try_to_claim, range(24)))

    assert statuses == {204: 5, 409: 19}
    assert (used(services[0], HOST), used(services[0], OTHER)) == (5, 5)


def test_a_consumer_that_several_writers_create_is_created_once(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    client.make_provider(HOST, inventories={"VCPU": 8})
    with ThreadPoolExecutor(4) as pool:
        claims = pool.map(lambda _: client.claim(100, {HOST: {"VCPU": 1}}), range(8))
        statuses = Counter(reply.status for reply in claims)
    assert statuses == {204: 1, 409: 7}
    assert used(client, HOST) == 1


@pytest.mark.parametrize(
    ("amounts", "status"),
    [
        ({99: {"VCPU": 1}}, 400),
        ({HOST: {"CUSTOM_NOBODY": 1}}, 400),
        ({HOST: {"DISK_GB": 1}}, 409),
        ({HOST: {"VCPU": 99}}, 409),
    ],
)
def test_a_refused_claim_leaves_nothing_behind(
    client: Client, amounts: dict[int, dict[str, int]], status: int
) -> None:
    """Invariant 2: no consumer without allocations, no project, no new generation."""
    client.make_provider(HOST, inventories={"VCPU": 8})
    assert client.claim(100, amounts).status == status
    for table in (tables.consumers, tables.projects, tables.users, tables.consumer_types):
        assert rows(client, table) == 0
    assert client.get(f"/resource_providers/{UUID(HOST)}").json["generation"] == 1
    assert client.claim(100, {HOST: {"VCPU": 1}}).status == 204


@pytest.mark.parametrize("ledger_url", ["mariadb", "postgresql"], indirect=True)
@pytest.mark.parametrize("left_over", [{HOST: {"VCPU": 3}}, {}])
def test_a_consumer_that_moves_while_it_is_replaced_is_not_replaced(
    serve: Callable[..., Client], ledger_url: str, left_over: dict[int, dict[str, int]]
) -> None:
    """Invariant 2: the other claim comes after the consumer was read, and before it is written."""
    client, other = serve(ledger_url), serve(ledger_url)
    for number in (HOST, OTHER):
        client.make_provider(number, inventories={"VCPU": 8})
    client.claim(100, {HOST: {"VCPU": 1}})
    moved: list[int] = []

    @event.listens_for(client.application.database.engine, "before_cursor_execute")
    def move(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith(("UPDATE consumers", "DELETE FROM consumers")) and not moved:
            moved.append(other.claim(100, {OTHER: {"VCPU": 2}}, 1).status)

    assert client.claim(100, left_over, 1).status == 409
    assert moved == [204]
    assert (used(client, HOST), used(client, OTHER)) == (0, 2)


def test_one_bad_consumer_refuses_the_whole_request(client: Client) -> None:
    client.make_provider(HOST, inventories={"VCPU": 8})
    wanted = {UUID(100): claim({HOST: {"VCPU": 1}}), UUID(101): claim({HOST: {"VCPU": 8}})}
    assert client.post("/allocations", wanted).status == 409
    assert used(client, HOST) == 0
    assert rows(client, tables.consumers) == 0


def test_an_over_allocated_provider_may_only_lose_allocations(client: Client) -> None:
    client.make_provider(HOST, inventories={"VCPU": 8})
    assert client.claim(100, {HOST: {"VCPU": 6}}).status == 204
    smaller = {"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 2}}}
    assert client.put(f"/resource_providers/{UUID(HOST)}/inventories", smaller).status == 200

    assert client.claim(101, {HOST: {"VCPU": 1}}).status == 409
    assert client.claim(100, {HOST: {"VCPU": 7}}, 1).status == 409
    assert client.claim(100, {HOST: {"VCPU": 6}}, 1).status == 204
    assert client.claim(100, {HOST: {"VCPU": 5}}, 2).status == 204


def test_releasing_everything_deletes_the_consumer(client: Client) -> None:
    client.make_provider(HOST, inventories={"VCPU": 8})
    client.claim(100, {HOST: {"VCPU": 6}})
    assert client.claim(100, {}, 1).status == 204
    assert rows(client, tables.consumers) == 0
    assert client.claim(100, {}).status == 204
    assert rows(client, tables.consumers) == 0


def test_a_consumer_without_allocations_can_be_written_again(client: Client) -> None:
    """Upstream leaves such rows; with the generation they have, they can be replaced or dropped."""
    client.make_provider(HOST, inventories={"VCPU": 8})
    client.claim(100, {HOST: {"VCPU": 6}})
    with client.application.database.transaction() as tx:
        tx.execute(tables.allocations.delete())
    assert client.claim(100, {}, 1).status == 204
    assert rows(client, tables.consumers) == 0


def test_delete_includes_allocations_without_a_consumer_row(client: Client) -> None:
    client.make_provider(HOST, inventories={"VCPU": 8})
    client.claim(100, {HOST: {"VCPU": 6}})
    with client.application.database.transaction() as tx:
        tx.execute(tables.consumers.delete())
    assert client.delete(f"/allocations/{UUID(100)}").status == 204
    assert used(client, HOST) == 0
    assert client.delete(f"/allocations/{UUID(100)}").status == 404


def test_a_provider_is_known_in_the_case_that_the_database_knows(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """MariaDB finds it in either, the others only as it was written; the ledger keeps one form."""
    client = serve(ledger_url)
    lower = "abcdefab-0000-4000-8000-00000000000a"
    client.post("/resource_providers", {"name": "host", "uuid": lower})
    path = f"/resource_providers/{lower}/inventories"
    client.post(path, {"resource_class": "VCPU", "total": 2})
    body = claim({})
    body["allocations"] = {lower.upper(): {"resources": {"VCPU": 2}}}
    folds = ledger_url.startswith("mysql")
    assert client.put(f"/allocations/{UUID(100)}", body).status == (204 if folds else 400)
    if folds:
        held = client.get(f"/allocations/{UUID(100)}").json["allocations"]
        assert list(held) == [lower]
        again = {**body, "consumer_generation": 1}
        assert client.put(f"/allocations/{UUID(100)}", again).status == 204


STATEMENTS_MAX = 5


def test_a_claim_takes_few_statements_and_one_commit(client: Client) -> None:
    """The first claim of a consumer whose project, user and type are known."""
    client.make_provider(HOST, inventories={"VCPU": 8, "MEMORY_MB": 8, "DISK_GB": 8})
    amounts = {HOST: {"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 1}}
    client.claim(100, amounts)
    statements = Statements(client.application.database.engine)
    assert client.claim(101, amounts).status == 204
    assert len(statements.seen) <= STATEMENTS_MAX, "\n".join(statements.seen)
    assert statements.commits == 1


class Statements:
    """Counts the statements and commits of an engine."""

    def __init__(self, engine: Engine):
        self.seen: list[str] = []
        self.commits = 0
        event.listen(engine, "before_cursor_execute", self._note)
        event.listen(engine, "commit", self._note_commit)

    def _note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        # On the other databases the driver begins by itself.
        if not statement.startswith("BEGIN"):
            self.seen.append(" ".join(statement.split()))

    def _note_commit(self, _connection: Any) -> None:
        self.commits += 1
