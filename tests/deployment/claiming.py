# SPDX-License-Identifier: Apache-2.0
"""Clients that claim while a database fails, and what must hold afterwards."""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

from tests.placement.client import UUID, Client, claim
from trueup.placement.app import PlacementApplication

CLIENTS, BEFORE, AFTER = 3, 10, 10
ROOM = 1000
Answers = Sequence[tuple[int, int]]
"""Each consumer, and the status of its claim."""


@dataclass(frozen=True)
class Moments:
    """The moments that clients wait for."""

    enough: Event = field(default_factory=Event)
    dead: Event = field(default_factory=Event)


def answers_through(application: PlacementApplication, fail: Callable[[], None]) -> Answers:
    """Claim with several clients before, while and after the database fails."""
    moments = Moments()
    Client(application).make_provider(1, inventories={"VCPU": ROOM})
    with ThreadPoolExecutor(CLIENTS) as pool:
        working = [
            pool.submit(_claims_until, application, number, moments)
            for number in range(1, 1 + CLIENTS)
        ]
        moments.enough.wait()
        fail()
        moments.dead.set()
        return [answer for one in working for answer in one.result()]


def _claims_until(
    application: PlacementApplication, number: int, moments: Moments
) -> list[tuple[int, int]]:
    """Claim until so many were acknowledged after the failure."""
    client, done, after = Client(application), [], 0
    for one in itertools.count(number * 10_000):
        was_dead = moments.dead.is_set()
        status = client.put(f"/allocations/{UUID(one)}", claim({1: {"VCPU": 1}})).status
        done.append((one, status))
        if len(done) == BEFORE:
            moments.enough.set()
        after += was_dead and status == 204
        if after == AFTER:
            break
    return done


def check_nothing_is_lost(answers: Answers, *applications: PlacementApplication) -> None:
    """Clients saw 204 and 503 only, all that was acknowledged is there, and each view shows it."""
    assert {status for _, status in answers} <= {204, 503}
    held = check_views(*applications)
    assert {UUID(one) for one, status in answers if status == 204} <= held


def check_views(*applications: PlacementApplication) -> set[str]:
    """The candidates of each are those of the ledger; the consumers of the provider."""
    client = Client(applications[0])
    held = client.get(f"/resource_providers/{UUID(1)}/allocations").json["allocations"]
    used = sum(one["resources"]["VCPU"] for one in held.values())
    assert used <= ROOM
    for application in applications:
        for amount, expected in ((ROOM - used, 1), (ROOM - used + 1, 0)):
            asked = f"/allocation_candidates?resources=VCPU:{amount}"
            found = Client(application).get(asked).json["allocation_requests"]
            assert len(found) == expected
    return set(held)
