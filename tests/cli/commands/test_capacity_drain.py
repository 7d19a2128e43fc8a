# SPDX-License-Identifier: Apache-2.0
"""`trueup capacity drain`: every server can go where it says, one after the other."""

import pytest

from tests.cli.commands.test_capacity import reporting
from tests.cli.running import trueup

__all__ = ["reporting"]


def test_the_servers_of_a_host_can_go_where_it_says(reporting):
    ran = trueup("capacity", "drain", "compute-02", "-f", "json")
    rows = ran.json()
    assert rows
    assert ran.code == (3 if any(not row["To"] for row in rows) else 0)
    assert f"of {len(rows)} server" in ran.err
    for row in rows:
        if not row["To"]:
            assert row["Remark"]
            continue
        held = reporting.holding(row["UUID"])
        [(source, amounts)] = held["allocations"].items()
        [target] = reporting.sql(
            "placement", "SELECT uuid FROM resource_providers WHERE name = ?",
            f"{row['To']}.lab.example",
        )  # fmt: skip
        moved = {target["uuid"]: {"resources": amounts["resources"]}}
        assert source != target["uuid"]
        body = held | {"allocations": moved}
        assert reporting.call("PUT", f"/allocations/{row['UUID']}", body).status_code == 204


def test_no_host_is_over_full(reporting):
    ran = trueup("capacity", "drain", "--over-full", "-f", "json")
    assert (ran.code, ran.json()) == (0, [])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "name a host, or use this option"),
        (("compute-01", "--over-full"), "name a host, or use this option"),
        (("h9",), "h9 is no compute host; known: compute-01"),
    ],
)
def test_what_cannot_be_drained_is_refused(reporting, words, reason):
    ran = trueup("capacity", "drain", *words)
    assert (ran.code, reason in ran.err) == (2, True), ran.err
