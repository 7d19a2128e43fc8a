# SPDX-License-Identifier: Apache-2.0
"""Reports from the field: SQL that makes of the recorded cloud `healthy` what an operator had.

The head of each file says what was reported, and what is right.
"""

from tests.clouds import damage
from tests.clouds.cloud import RecordedCloud
from tests.clouds.field import run_report


def plant(cloud: RecordedCloud, name: str) -> None:
    """Make the report of this name come true; the compute services of the cloud report."""
    report(cloud)
    run_report(cloud, name)


def report(cloud: RecordedCloud) -> None:
    """Let all compute services report for as long as tests run."""
    for cell in ("cell1", "cell2"):
        damage.change_cell(
            cloud,
            cell,
            "UPDATE services SET last_seen_up = '2100-01-01', updated_at = '2100-01-01'",
        )


def silence(cloud: RecordedCloud, cell: str, host: str) -> None:
    """The compute service of a host has not reported for a day."""
    past = "UTC_TIMESTAMP() - INTERVAL 1 DAY"
    damage.change_cell(
        cloud,
        cell,
        f"UPDATE services SET last_seen_up = {past}, updated_at = {past} WHERE host = '{host}'",
    )
