# SPDX-License-Identifier: Apache-2.0
"""One Placement takes over from the other while instances boot, and nobody notices."""

import pytest

from tests.real.cloud.churn import churn, stays
from tests.real.cloud.placement import KINDS
from tests.real.cloud.processes import wait_until

SWAPS = ("upstream", "trueup") * 2
BOOTS_BETWEEN = 3


@pytest.mark.short
def test_swapped_in_and_out_while_instances_boot(cloud, logbook, record_property):
    logbook.begin("both")
    cloud.placement.swap_to(KINDS[-1])
    with churn(cloud, workers=2, choices=(stays,), host=None) as lives:
        for kind in SWAPS:
            enough = len(lives.ended) + BOOTS_BETWEEN
            wait_until(
                lambda count=enough: len(lives.ended) >= count or bool(lives.failed), "boots"
            )
            cloud.placement.swap_to(kind)
    record_property("swaps", len(SWAPS))
    record_property("instances", len(lives.ended))
    assert lives.failed == []


@pytest.mark.short
def test_what_trueup_added_is_taken_away(cloud):
    cloud.placement.swap_to("upstream")
    cloud.placement.manage("trueup", "db", "detach")
    tables = {row[0] for row in cloud.sql("placement", "SHOW TABLES")}
    assert not [name for name in tables if name.startswith("trueup_")]
    assert "allocations" in tables
