# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with a standby that takes over, by hand, while claims are made."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from sqlalchemy.engine import make_url

from tests.deployment.claiming import ROOM, answers_through, check_nothing_is_lost, check_views
from tests.placement.client import UUID, Client
from tests.servers.databases import as_text
from tests.servers.processes import ProgramMissing, poll
from tests.servers.replication import Replicated, replicated_postgresql
from tests.servers.skipping import skip_without
from trueup.placement.app import PlacementApplication, make_app
from trueup.placement.store import schema

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
SECONDS_TO_FOLLOW = 30
DATABASE = "placement"


@pytest.fixture
def replicated() -> Iterator[Replicated]:
    """A primary with Placement's tables, and its standby."""
    try:
        with replicated_postgresql() as replicated:
            replicated.primary.server.execute(f"CREATE DATABASE {DATABASE}")
            schema.create(as_text(replicated.primary.url.set(database=DATABASE)))
            yield replicated
    except ProgramMissing as missing:
        skip_without(str(missing))


@pytest.fixture
def serving(replicated: Replicated) -> Iterator[Callable[[], PlacementApplication]]:
    """Makes a worker that knows both servers."""
    with ExitStack() as at_the_end:

        def serve() -> PlacementApplication:
            application = make_app(replicated.url(DATABASE), NOAUTH)
            return at_the_end.enter_context(closing(application))

        yield serve


def fail_over(replicated: Replicated) -> None:
    replicated.primary.stop()
    replicated.standby.promote()


def test_with_synchronous_replication_no_acknowledged_claim_is_lost(
    replicated: Replicated, serving: Callable[[], PlacementApplication]
) -> None:
    replicated.wait_for_the_standby()
    one, two = serving(), serving()
    Client(two).get("/allocation_candidates?resources=VCPU:1")
    answers = answers_through(one, lambda: fail_over(replicated))
    check_nothing_is_lost(answers, one, two)


def test_with_asynchronous_replication_what_is_lost_is_lost_in_each_view(
    replicated: Replicated, serving: Callable[[], PlacementApplication]
) -> None:
    """The standby took nothing more for a while: ids and numbers of changes are given again."""
    one, two = serving(), serving()
    client, other = Client(one), Client(two)
    client.make_provider(1, inventories={"VCPU": ROOM})
    assert client.claim(100, {1: {"VCPU": 10}}).status == 204
    assert poll(replicated.has_caught_up, SECONDS_TO_FOLLOW)
    replicated.stop_following()
    client.put("/traits/CUSTOM_LOST")
    client.make_provider(2, inventories={"VCPU": 8}, traits=("CUSTOM_LOST",))
    assert client.claim(101, {1: {"VCPU": 500}}).status == 204
    assert check_views(one, two) == {UUID(100), UUID(101)}

    fail_over(replicated)

    # The other worker writes first, and gives the ids again.
    other.put("/traits/CUSTOM_NEW")
    other.make_provider(3, inventories={"VCPU": 8}, traits=("CUSTOM_NEW",))
    assert check_views(two, one) == {UUID(100)}
    for worker in (client, other):
        asked = "/allocation_candidates?resources=VCPU:1&required="
        assert list(worker.get(f"{asked}CUSTOM_NEW").json["provider_summaries"]) == [UUID(3)]
        assert worker.get(f"{asked}CUSTOM_LOST").status == 400
    assert client.claim(102, {1: {"VCPU": ROOM - 10}}).status == 204
    assert client.claim(103, {1: {"VCPU": 1}}).status == 409


def test_a_standby_is_not_read_until_it_takes_over(
    replicated: Replicated, serving: Callable[[], PlacementApplication]
) -> None:
    """A proxy that knows no roles leads to it, and acknowledged writes may be missing there."""
    client = Client(serving())
    client.make_provider(1, inventories={"VCPU": ROOM})
    assert poll(replicated.has_caught_up, SECONDS_TO_FOLLOW)
    at_standby = as_text(make_url(replicated.standby.url).set(database=DATABASE))
    with closing(make_app(at_standby, NOAUTH)) as application:
        misled = Client(application)
        for path in (f"/resource_providers/{UUID(1)}", "/allocation_candidates?resources=VCPU:1"):
            assert misled.get(path).status == 503
        fail_over(replicated)
        assert misled.get(f"/resource_providers/{UUID(1)}").status == 200
        assert misled.claim(100, {1: {"VCPU": 10}}).status == 204
        assert check_views(application) == {UUID(100)}
