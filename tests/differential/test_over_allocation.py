# SPDX-License-Identifier: Apache-2.0
"""Usage never grows above capacity, whoever writes at the same moment (invariant 1).

Each round has a provider of its own with one unit to give. Whoever does not get it hears 409
with upstream's codes, and nobody ever hears 500.
"""

import json
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.differential.calls import Call
from tests.differential.contest import codes, contest
from tests.differential.pair import Answer, ask
from tests.servers import upstream
from tests.servers.placement import IMPLEMENTATIONS, NOAUTH
from tests.servers.wsgi import factory_named

IMPLEMENTATION = os.environ.get("TRUEUP_TEST_IMPLEMENTATION", "trueup")
ROUNDS = int(os.environ.get("TRUEUP_ROUNDS", "15"))
PLAYERS = 6
OWNER = "11111111111111111111111111111111"
ONE_UNIT = {"VCPU": {"total": 1}}
REFUSALS = {"placement.concurrent_update", "placement.undefined_code"}
IN_USE = {
    "placement.inventory.inuse",
    "placement.resource_provider.inuse",
    "placement.resource_provider.cannot_delete_parent",
}
OVERFULL = """
    SELECT p.uuid, a.used, i.total, i.reserved, i.allocation_ratio
    FROM (SELECT resource_provider_id, resource_class_id, SUM(used) AS used FROM allocations
          GROUP BY resource_provider_id, resource_class_id) a
    LEFT JOIN resource_providers p ON p.id = a.resource_provider_id
    LEFT JOIN inventories i ON i.resource_provider_id = a.resource_provider_id
         AND i.resource_class_id = a.resource_class_id
    WHERE i.total IS NULL OR p.uuid IS NULL OR a.used > (i.total - i.reserved) * i.allocation_ratio
"""


@pytest.fixture
def arena(database_url: str) -> tuple[str, list[str]]:
    """A database, and the providers in it: one for each round, each with one unit."""
    upstream.create_tables(database_url)
    application = factory_named(IMPLEMENTATIONS[IMPLEMENTATION])(database_url, NOAUTH)
    providers = [str(uuid.uuid4()) for _ in range(ROUNDS)]
    for provider in providers:
        made = request("POST", "/resource_providers", {"uuid": provider, "name": provider})
        assert ask(application, made).status == 200
        assert ask(application, stock(provider, ONE_UNIT)).status == 200
    application.close()
    return database_url, providers


def request(method: str, path: str, body: Any = None) -> Call:
    return Call(method, path, "1.39", None if body is None else json.dumps(body))


def stock(provider: str, inventories: dict, generation: int = 0) -> Call:
    body = {"resource_provider_generation": generation, "inventories": inventories}
    return request("PUT", f"/resource_providers/{provider}/inventories", body)


def holding(provider: str) -> dict[str, Any]:
    """What a consumer that is new says about itself when it takes the unit."""
    return {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": OWNER,
        "user_id": OWNER,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def claim(provider: str) -> Call:
    return request("PUT", f"/allocations/{uuid.uuid4()}", holding(provider))


def claim_in_bulk(provider: str) -> Call:
    return request("POST", "/allocations", {str(uuid.uuid4()): holding(provider)})


def reshape(provider: str) -> Call:
    inventory = {"resource_provider_generation": 1, "inventories": ONE_UNIT}
    allocations = {str(uuid.uuid4()): holding(provider)}
    body = {"inventories": {provider: inventory}, "allocations": allocations}
    return request("POST", "/reshaper", body)


def reserve(provider: str) -> Call:
    return stock(provider, {"VCPU": {"total": 1, "reserved": 1}}, generation=1)


def delete_inventory(provider: str) -> Call:
    return request("DELETE", f"/resource_providers/{provider}/inventories/VCPU")


def delete_provider(provider: str) -> Call:
    return request("DELETE", f"/resource_providers/{provider}")


def play(
    arena: tuple[str, list[str]], moves: Sequence[Callable[[str], Call]]
) -> list[list[Answer]]:
    """Let player n make the nth move in each round; returns the answers, checked for crashes."""
    database_url, providers = arena
    players = [[move(provider) for provider in providers] for move in moves]
    rounds = contest(IMPLEMENTATION, database_url, players)
    for answers in rounds:
        for answer in answers:
            assert answer.status in (200, 204, 404, 400, 409), answer
            assert answer.status != 409 or set(codes(answer)) <= REFUSALS | IN_USE, answer
    engine = sqlalchemy.create_engine(database_url, poolclass=NullPool)
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text(OVERFULL)).all() == []
    return rounds


def succeeded(answers: Sequence[Answer]) -> int:
    return sum(answer.status < 300 for answer in answers)


@pytest.mark.parametrize("move", [claim, claim_in_bulk, reshape])
def test_the_last_unit_has_one_holder(
    arena: tuple[str, list[str]], move: Callable[[str], Call]
) -> None:
    for answers in play(arena, [move] * PLAYERS):
        assert succeeded(answers) == 1, answers


def test_the_last_unit_has_one_holder_with_every_kind_of_write(
    arena: tuple[str, list[str]],
) -> None:
    for answers in play(arena, [claim, claim_in_bulk, reshape] * (PLAYERS // 3)):
        assert succeeded(answers) == 1, answers


@pytest.mark.parametrize("taking_away", [reserve, delete_inventory, delete_provider])
def test_an_inventory_with_a_claim_is_not_removed(
    arena: tuple[str, list[str]], taking_away: Callable[[str], Call]
) -> None:
    """Whoever comes first moves the provider's generation, or finds it in use."""
    half = PLAYERS // 2
    for answers in play(arena, [claim] * half + [taking_away] * half):
        assert not (succeeded(answers[:half]) and succeeded(answers[half:])), answers
        assert succeeded(answers[:half]) <= 1, answers
