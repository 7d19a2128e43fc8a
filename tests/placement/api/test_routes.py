# SPDX-License-Identifier: Apache-2.0
"""The table against upstream's, and against the policies."""

import pytest
from placement import handler as upstream

from tests.placement.client import UUID, Client
from trueup.placement.api.routes import ADDITIONS, ROUTES
from trueup.placement.api.versions import V

ARGUMENTS = {
    "uuid": UUID(1),
    "consumer_uuid": UUID(2),
    "name": "CUSTOM_NOBODY",
    "resource_class": "VCPU",
}


def test_the_urls_and_methods_are_upstreams() -> None:
    declared = {
        (url, method)
        for url, methods in upstream.ROUTE_DECLARATIONS.items()
        for method in methods
        if url
    }
    assert {(route.url, route.method) for route in ROUTES} == declared


def test_additions_are_below_a_path_of_their_own() -> None:
    assert all(route.url.startswith("/trueup/") for route in ADDITIONS)


def test_no_two_routes_answer_the_same_request() -> None:
    for version in V:
        present = [
            (route.url, route.method) for route in ROUTES if route.since <= version <= route.until
        ]
        assert len(present) == len(set(present))


@pytest.mark.parametrize(
    "route", [*ROUTES, *ADDITIONS], ids=lambda route: f"{route.method} {route.url}"
)
def test_ordinary_users_are_refused(client: Client, route) -> None:
    if route.url == "/":
        return
    reply = client.send(
        route.method,
        route.url.format(**ARGUMENTS),
        {} if route.takes else None,
        version=str(route.until),
        headers={"x-auth-token": "somebody"},
    )
    assert reply.status == 403
