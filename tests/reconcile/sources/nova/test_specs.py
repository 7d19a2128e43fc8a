# SPDX-License-Identifier: Apache-2.0
"""What is in request specs, of a real Nova and of none."""

import json

import pytest

from trueup.reconcile.facts import Flavor, RequestSpec
from trueup.reconcile.sources.database import row_type
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova.databases import NovaDatabases
from trueup.reconcile.sources.nova.specs import request_spec
from trueup.reconcile.sources.reading import Reader

UUID = "64f07df9-a82b-4e95-bf52-d04049285a55"
FLAVOR = {"name": "a", "vcpus": 1, "memory_mb": 2, "root_gb": 3, "ephemeral_gb": 4, "swap": 5}
KEPT = {"nova_object.data": {"flavor": {"nova_object.data": FLAVOR}, "is_bfv": True}}
Text = row_type(("id", "instance_uuid", "spec"))


def read(text: str | None) -> tuple[RequestSpec, Notes]:
    notes = Notes()
    return request_spec(Reader("request_specs", notes), Text(7, UUID, text)), notes


def test_a_spec_says_by_what_the_next_claim_is_made():
    found, notes = read(json.dumps(KEPT))
    assert found == RequestSpec(UUID, Flavor("a", 1, 2, 3, 4, 5, {}), volume_backed=True)
    assert notes.count == 0


def test_an_old_spec_does_not_say_whether_a_volume_is_the_root():
    kept = {"nova_object.data": {"flavor": {"nova_object.data": FLAVOR}}}
    assert read(json.dumps(kept))[0].volume_backed is None


@pytest.mark.parametrize("text", ["{", "[]", "7", "{}", json.dumps({"nova_object.data": {}})])
def test_what_is_no_spec_is_noted_and_still_one(text):
    found, notes = read(text)
    assert found == RequestSpec(UUID)
    [noted] = notes.unread
    assert (noted.row, noted.column) == ("7", "spec")


def test_none_at_all_is_no_mistake():
    found, notes = read(None)
    assert (found, notes.count) == (RequestSpec(UUID), 0)


def test_the_specs_of_a_real_nova(recorded_cloud):
    """By them the next claim is of the flavor that the instance has, in every case."""
    cloud = recorded_cloud("every-kind")
    nova = NovaDatabases(cloud.nova_api_url, None)
    cells = nova.cells()
    alive = {
        row.uuid: row
        for cell in cells
        for row in nova.contents(cell).instances
        if row.uuid in nova.registry(cells).request_specs
    }
    specs = {row.instance: row for row in nova.registry(cells, alive).specs}
    assert specs.keys() == alive.keys()
    assert {uuid: row.flavor for uuid, row in specs.items()} == {
        uuid: row.flavor for uuid, row in alive.items()
    }
    assert {row.volume_backed for row in specs.values()} <= {True, False}
    assert nova.registry(cells).specs == ()
    nova.close()
