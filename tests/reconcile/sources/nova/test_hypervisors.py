# SPDX-License-Identifier: Apache-2.0
"""One compute node over Nova's API: answers of a real one, with and without a cell down."""

import pytest

from tests.clouds import answers
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.api import ANSWERING_CELLS, DOWN_CELLS, NovaApi

GONE = "815de3c2-9295-4060-942b-e8a23f66f8c3"


def asked_for_one(recorded: answers.Answers, name: str) -> answers.Answers:
    """The same cloud, whose compute nodes are asked for one by one and not all at once."""
    every = recorded["GET /os-hypervisors/detail?&limit=1000 2.98"][1]["hypervisors"]
    shown = {f"GET /os-hypervisors/{row['id']} 2.98": (200, {"hypervisor": row}) for row in every}
    alike = [row for row in every if name in row["hypervisor_hostname"]]
    searched = f"GET /os-hypervisors/detail?hypervisor_hostname_pattern={name} 2.98"
    missing = (404, {"itemNotFound": {"code": 404, "message": "could not be found"}})
    rest = {key: row for key, row in recorded.items() if "/os-hypervisors" not in key}
    return {
        **rest,
        **shown,
        f"GET /os-hypervisors/{GONE} 2.98": missing,
        searched: (200, {"hypervisors": alike}) if alike else missing,
    }


def test_a_compute_node_is_found_without_reading_all_of_them():
    recorded = answers.load("every-kind/api")
    with answers.replayed(recorded) as adapter:
        one, another, *_ = NovaApi(adapter).hosts(ANSWERING_CELLS).compute_nodes
    with answers.replayed(asked_for_one(recorded, one.node)) as adapter:
        found = NovaApi(adapter)
        assert found.compute_nodes(ANSWERING_CELLS, one.uuid) == (one,)
        assert found.compute_nodes(ANSWERING_CELLS, another.uuid, one.node) == (another, one)
        assert found.compute_nodes(ANSWERING_CELLS, GONE) == ()
    # Nova finds every name that contains it.
    with answers.replayed(asked_for_one(recorded, one.node[:-1])) as adapter:
        assert NovaApi(adapter).compute_nodes(ANSWERING_CELLS, GONE, one.node[:-1]) == ()
    with answers.replayed(asked_for_one(recorded, "nobody")) as adapter:
        assert NovaApi(adapter).compute_nodes(ANSWERING_CELLS, GONE, "nobody") == ()


def test_a_compute_node_of_a_cell_that_is_down_is_not_known_to_be_gone():
    recorded = answers.load("every-kind/api-cell-down")
    failed = recorded["GET /os-hypervisors/detail?&limit=1000 2.98"]
    with answers.replayed(recorded | {f"GET /os-hypervisors/{GONE} 2.98": failed}) as adapter:
        nova = NovaApi(adapter)
        assert nova.compute_nodes(ANSWERING_CELLS, GONE) == ()
        with pytest.raises(Unreachable):
            nova.compute_nodes(DOWN_CELLS, GONE)
