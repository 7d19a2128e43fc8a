# SPDX-License-Identifier: Apache-2.0
"""Faults that fuzzing found, and requests that Trueup refuses where upstream answers 500."""

import json
from collections.abc import Iterator

import pytest

from tests.differential.generating import PROVIDERS
from tests.fuzz.bodies import GENERATION, INVENTORY, SOUND
from tests.fuzz.requests import path_of, version
from tests.fuzz.services import JSON, NEWEST, Disagreement, Services, ServicesFactory, Wire
from trueup.placement.api.routes import ROUTES, Route

PROVIDER = f"/resource_providers/{PROVIDERS[0]}"
TYPED = JSON | NEWEST
CHUNKED = TYPED | {"transfer-encoding": "chunked"}
HALF = b'{"name": "\\ud800"}'  # of a character
BODIES = [one for one in ROUTES if one.handler.__name__ in SOUND]


@pytest.fixture(scope="module")
def factory(tmp_path_factory: pytest.TempPathFactory) -> ServicesFactory:
    return ServicesFactory(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def services(factory: ServicesFactory) -> Iterator[Services]:
    with factory.services() as both:
        yield both


def put_inventories(inventories: object, generation: int = GENERATION) -> Wire:
    body = {"resource_provider_generation": generation, "inventories": inventories}
    return Wire("PUT", f"{PROVIDER}/inventories", "", TYPED, json.dumps(body).encode())


@pytest.mark.parametrize("route", BODIES, ids=lambda route: route.handler.__name__)
def test_requests_without_a_fault_are_accepted(services: Services, route: Route) -> None:
    """Or the faults would be hidden behind one that all requests have."""
    headers = JSON | version(int(route.until))
    body = json.dumps(SOUND[route.handler.__name__]).encode()
    assert services.send(Wire(route.method, path_of(route), "", headers, body)).status < 400


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (put_inventories({"VCPU": INVENTORY, "x": {}}, 99), 409),
        (put_inventories({"x": {"total": 5}}), 400),
        (Wire("GET", PROVIDER, "", TYPED | {"accept": "application/json; x=1"}), 406),
        (Wire("PUT", PROVIDER, "", TYPED | {"content-type": "application/json ;"}, b"{}"), 415),
        (Wire("DELETE", PROVIDER, "", TYPED | {"accept": "*/json"}), 409),
        (Wire("GET", "//", "", TYPED), 404),
        (Wire("POST", "/resource_providers%2F", "", TYPED, b'{"name": "x"}'), 404),
        (Wire("PUT", PROVIDER, "", CHUNKED, b'{"name": "renamed"}', length=""), 200),
        (Wire("DELETE", "/resource_classes/CUSTOM_GOLD", "", TYPED, length="9" * 20), 409),
        (Wire("PUT", f"{PROVIDER[:-1]}f", "", TYPED, HALF), 404),
    ],
    ids=lambda value: f"{value.method} {value.path}" if isinstance(value, Wire) else str(value),
)
def test_faults_that_were_found_stay_fixed(services: Services, wire: Wire, status: int) -> None:
    assert services.send(wire).status == status


KEPT = {
    "nested too deeply": (Wire("PUT", PROVIDER, "", TYPED, b"[" * 100000), 400),
    "longer than there is": (Wire("PUT", PROVIDER, "", TYPED, b"{}", length="9" * 20), 400),
    "no inventory, no class": (put_inventories({"x": 1}), 400),
    "no inventory, and stale": (put_inventories({"x": 1}, 99), 409),
    "more than can be counted": (
        Wire("GET", "/allocation_candidates", f"resources=VCPU:{2**63}", NEWEST),
        400,
    ),
    "half of a character": (Wire("PUT", PROVIDER, "", TYPED, HALF), 400),
    "words for numbers": (put_inventories({"x": {"total": "many"}}), 400),
}


@pytest.mark.parametrize("name", KEPT)
def test_trueup_refuses_where_upstream_answers_500(services: Services, name: str) -> None:
    wire, status = KEPT[name]
    assert services.ask_upstream(wire).status == 500, "upstream mended it: compare it from now on"
    assert services.send(wire).status == status


def test_a_disagreement_names_the_request(services: Services) -> None:
    wire = Wire("GET", "/resource_providers", "", TYPED)
    broken = Services(lambda _environ, start: start("404 Not Found", []) or [], services.ours)
    with pytest.raises(Disagreement, match=r"/resource_providers(.|\n)*404(.|\n)*200"):
        broken.send(wire)
