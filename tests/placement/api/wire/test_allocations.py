# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from trueup.model.generations import UNCHECKED
from trueup.placement import config
from trueup.placement.api.versions import V
from trueup.placement.api.wire.allocations import from_wire

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
