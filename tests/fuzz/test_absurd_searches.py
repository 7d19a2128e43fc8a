# SPDX-License-Identifier: Apache-2.0
"""A search for 64 groups that fit anywhere in a tree of four is not multiplied out: 4 ** 64."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.placement.client import Client
from tests.servers.placement import NOAUTH
from trueup.placement.app import make_app
from trueup.placement.store import schema

PROVIDERS = 4
ANSWERS = 10
GROUPS = "&".join(f"resources{number}=VCPU:1" for number in range(1, 65))


@pytest.fixture
def client_of(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """`client_of(max_allocation_candidates=…)`: a service with one large host."""
    with ExitStack() as closed_at_the_end:

        def start(**options: Any) -> Client:
            url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
            schema.create(url)
            application = make_app(url, {**NOAUTH, "placement": options})
            client = Client(closed_at_the_end.enter_context(closing(application)))
            client.make_provider(0, inventories={"VCPU": 1000})
            for number in range(1, PROVIDERS):
                client.make_provider(number, 0, inventories={"VCPU": 1000})
            return client

        yield start


def test_a_limit_of_the_client_bounds_it(client_of: Callable[..., Client]) -> None:
    client = client_of()
    reply = client.get(f"/allocation_candidates?{GROUPS}&group_policy=none&limit={ANSWERS}")
    assert len(reply.json["allocation_requests"]) == ANSWERS


def test_a_limit_of_the_site_bounds_it(client_of: Callable[..., Client]) -> None:
    client = client_of(max_allocation_candidates=ANSWERS)
    reply = client.get(f"/allocation_candidates?{GROUPS}&group_policy=none")
    assert len(reply.json["allocation_requests"]) == ANSWERS


def test_more_isolated_groups_than_providers_fit_nowhere(client_of: Callable[..., Client]) -> None:
    reply = client_of().get(f"/allocation_candidates?{GROUPS}&group_policy=isolate")
    assert reply.json["allocation_requests"] == []


def test_a_policy_that_does_not_exist_is_refused(client_of: Callable[..., Client]) -> None:
    assert client_of().get(f"/allocation_candidates?{GROUPS}&group_policy=x").status == 400
