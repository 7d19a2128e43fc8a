# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from tests.placement.client import UUID, Client
from trueup.model.allocations import Allocation, Consumer
from trueup.model.generations import UNCHECKED
from trueup.placement import config
from trueup.placement.api.versions import V
from trueup.placement.api.wire.allocations import (
    from_wire,
    render_of_consumer,
    render_of_provider,
)

LISTED = {
    "allocations": [{"resource_provider": {"uuid": "host"}, "resources": {"VCPU": 1, "DISK_GB": 2}}]
}
MAPPED = {
    "allocations": {"host": {"resources": {"VCPU": 1, "DISK_GB": 2}}},
    "project_id": "p",
    "user_id": "u",
}


@pytest.mark.parametrize(
    ("given", "version", "project", "expected", "kind"),
    [
        (LISTED, V.INITIAL, "nobody", UNCHECKED, None),
        (MAPPED, V.ALLOCATIONS_BY_PROVIDER, "p", UNCHECKED, None),
        ({**MAPPED, "consumer_generation": None}, V.CONSUMER_GENERATION, "p", None, None),
        (
            {**MAPPED, "consumer_generation": 3, "consumer_type": "SERVER"},
            V.CONSUMER_TYPES,
            "p",
            3,
            "SERVER",
        ),
    ],
)
def test_every_form_means_the_same(
    given: dict[str, Any], version: V, project: str, expected: object, kind: str | None
) -> None:
    settings = config.from_mapping({"placement": {"incomplete_consumer_project_id": "nobody"}})
    wanted = from_wire("server", given, version, settings)
    assert wanted.amounts == {("host", "VCPU"): 1, ("host", "DISK_GB"): 2}
    assert (wanted.project_id, wanted.type) == (project, kind)
    assert wanted.expected_generation == expected


CONSUMER = Consumer(1, "server", "p", "u", 4)
HELD = Allocation("host", "VCPU", 2, 7)


def test_a_consumer_is_shown_as_the_microversion_knows_it() -> None:
    allocations = {"host": {"resources": {"VCPU": 2}, "generation": 7}}
    assert render_of_consumer(CONSUMER, [HELD], V.ALLOCATIONS_LINK) == {"allocations": allocations}
    assert render_of_consumer(CONSUMER, [HELD], V.CONSUMER_TYPES) == {
        "allocations": allocations,
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 4,
        "consumer_type": "unknown",
    }
    assert render_of_consumer(None, [], V.CONSUMER_TYPES) == {"allocations": {}}


def test_a_provider_shows_who_holds_it() -> None:
    shown = render_of_provider([("server", 4, HELD)], 7, V.CONSUMER_GENERATION)
    assert shown == {
        "resource_provider_generation": 7,
        "allocations": {"server": {"resources": {"VCPU": 2}, "consumer_generation": 4}},
    }
    early = render_of_provider([("server", 4, HELD)], 7, V.ALL_CLASSES)
    assert early["allocations"] == {"server": {"resources": {"VCPU": 2}}}


def test_a_consumer_needs_a_uuid(client: Client) -> None:
    assert "Malformed consumer_uuid" in client.put("/allocations/server", {}).text
    assert client.put(f"/allocations/{UUID(1)}", {}).status == 400
