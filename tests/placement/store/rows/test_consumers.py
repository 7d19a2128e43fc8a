# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import pytest
from sqlalchemy import event

from tests.placement.client import UUID, Client, claim
from trueup.model.allocations import ConsumerAllocations, ConsumerRef
from trueup.placement.store.engine.database import ChangedMeanwhile, Database
from trueup.placement.store.packed_rows import parts_of
from trueup.placement.store.reads import claims
from trueup.placement.store.rows import consumers


@pytest.fixture
def database(empty_ledger: str) -> Iterator[Database]:
    with closing(Database(empty_ledger)) as database:
        yield database


def shown(database: Database) -> dict[str, tuple[str, str, str | None]]:
    """The owners and the type of every consumer."""
    with database.reading() as tx:
        rows = tx.execute(consumers.columns()).all()
    found = [consumers.read_consumer(*owners, parts_of(text)) for *owners, text in rows]
    return {row.uuid: (row.project_id, row.user_id, row.type) for row in found}


def save(database: Database, *wanted: ConsumerAllocations) -> None:
    with database.transaction() as tx:
        found = claims.read(tx, wanted, [])
        consumers.save(tx, wanted, found.consumers, found.owners)


def known_of(database: Database, *wanted: ConsumerAllocations) -> Mapping[str, ConsumerRef]:
    with database.reading() as tx:
        return claims.read(tx, wanted, []).consumers


AMOUNTS = {("host", "VCPU"): 1}
SERVER = ConsumerAllocations("server", "p", "u", AMOUNTS, type="INSTANCE")


def test_new_consumers_start_at_generation_one_and_known_ones_are_incremented(
    database: Database,
) -> None:
    save(database, SERVER)
    assert known_of(database, SERVER)["server"].generation == 1
    assert shown(database)["server"] == ("p", "u", "INSTANCE")

    save(database, ConsumerAllocations("server", "other", "u", AMOUNTS))
    assert known_of(database, SERVER)["server"].generation == 2
    assert shown(database)["server"] == ("other", "u", "INSTANCE")


def test_a_few_of_each_are_made_at_once(database: Database) -> None:
    wanted = [
        ConsumerAllocations("one", "p", "u", AMOUNTS, type="INSTANCE"),
        ConsumerAllocations("two", "q", "u", AMOUNTS),
        ConsumerAllocations("three", "p", "v", AMOUNTS, type="MIGRATION"),
    ]
    save(database, *wanted)
    assert shown(database) == {
        "one": ("p", "u", "INSTANCE"),
        "two": ("q", "u", None),
        "three": ("p", "v", "MIGRATION"),
    }
    with database.transaction() as tx:
        consumers.delete_consumer(tx, "one")
        consumers.delete_consumer(tx, "nobody")
    save(database, ConsumerAllocations("two", "q", "u"))
    assert list(shown(database)) == ["three"]


@pytest.mark.parametrize("amounts", [AMOUNTS, {}])
def test_a_consumer_that_another_transaction_wrote_is_not_written(
    database: Database, amounts: dict[tuple[str, str], int]
) -> None:
    save(database, SERVER)
    with database.reading() as tx:
        found = claims.read(tx, [SERVER], [])
    save(database, SERVER)
    wanted = ConsumerAllocations("server", "p", "u", amounts)
    with pytest.raises(ChangedMeanwhile), database.transaction() as tx:
        consumers.save(tx, [wanted], found.consumers, found.owners)
    assert known_of(database, SERVER)["server"].generation == 2


def test_names_that_the_database_holds_equal_are_one_owner(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """MariaDB ignores case, accents and spaces at the end, within one request and before it."""
    client = serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 100})
    owners = [("p1", "muller"), ("p1", "m\u00fcller"), ("p1 ", "muller "), ("P1", "MULLER")]
    owners += [("p1", "strasse"), ("p1", "stra\u00dfe"), ("p2", "muller")]
    bodies = {
        UUID(100 + number): claim({1: {"VCPU": 1}}) | {"project_id": project, "user_id": user}
        for number, (project, user) in enumerate(owners)
    }
    for uuid, body in bodies.items():
        assert client.put(f"/allocations/{uuid}", body).status == 204, body
    again = {
        uuid.replace("-8000-", "-9000-"): {**body, "user_id": f"new {body['user_id']}"}
        for uuid, body in bodies.items()
    }
    assert client.post("/allocations", again).status == 204
    assert client.get(f"/resource_providers/{UUID(1)}/usages").json["usages"] == {"VCPU": 14}


def test_a_usual_claim_asks_for_no_owner_alone(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 100})
    seen: list[str] = []
    event.listen(
        client.application.database.engine,
        "before_cursor_execute",
        lambda _connection, _cursor, statement, *_rest: seen.append(statement),
    )
    # Of a new project and user, and of known ones.
    for number in range(2):
        assert client.claim(100 + number, {1: {"VCPU": 1}}).status == 204
    assert not [
        statement for statement in seen if statement.startswith(("SELECT projects", "SELECT users"))
    ]
    assert any("INSERT INTO projects" in statement for statement in seen)
