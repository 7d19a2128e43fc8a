# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.clouds.answers import replayed
from trueup.reconcile.facts import Flavor
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.nova.flavors import read_flavor, read_flavors

ROW = {
    "id": "1",
    "name": "m1",
    "vcpus": 1,
    "ram": 64,
    "disk": 1,
    "swap": 512,
    "OS-FLV-EXT-DATA:ephemeral": 2,
    "extra_specs": {"hw:cpu_policy": "shared"},
}
ANSWERS = {
    "GET /flavors/1 2.61": (200, {"flavor": ROW}),
    "GET /flavors/2 2.61": (200, {"flavor": {"id": "2"}}),
    "GET /flavors/3 2.61": (403, {"forbidden": {"message": "no"}}),
}


def test_a_flavor_as_nova_shows_it():
    with replayed(ANSWERS) as adapter:
        found = read_flavor(adapter, "1")
    assert found == Flavor("m1", 1, 64, 1, 2, 512, {"hw:cpu_policy": "shared"})


@pytest.mark.parametrize(("name", "error"), [("2", Unreachable), ("3", AccessDenied)])
def test_what_cannot_be_read_is_an_error(name, error):
    with replayed(ANSWERS) as adapter, pytest.raises(error):
        read_flavor(adapter, name)


def test_every_flavor_that_servers_can_be_made_with_page_by_page():
    def row(name: str, disabled: bool = False) -> dict[str, object]:
        return {**ROW, "id": name, "name": name, "OS-FLV-DISABLED:disabled": disabled}

    first = {"flavors": [row("b"), row("off", disabled=True)], "flavors_links": [{"rel": "next"}]}
    answers = {
        "GET /flavors/detail?is_public=None 2.61": (200, first),
        "GET /flavors/detail?is_public=None&marker=off 2.61": (200, {"flavors": [row("a")]}),
    }
    with replayed(answers) as adapter:
        assert [one.name for one in read_flavors(adapter)] == ["a", "b"]
