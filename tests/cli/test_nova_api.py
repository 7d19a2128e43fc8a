# SPDX-License-Identifier: Apache-2.0
"""Audits that have no database of Nova's: its recorded API, and a Placement over the same cloud."""

import json
from contextlib import ExitStack

import pytest
import requests

from tests.cli.running import ROWS, Ran, trueup
from tests.clouds import answers
from tests.clouds.cloud import RecordedCloud
from tests.clouds.ledger import HEADERS

GONE, MOVING = "815de3c2-9295-4060-942b-e8a23f66f8c3", "a6e58088-45f6-4d7a-ac43-234f8fabeeb1"
DEVSTACK2 = "devstack2"


@pytest.fixture
def cloud(recorded_cloud) -> RecordedCloud:
    return recorded_cloud("every-kind", "trueup")


@pytest.fixture
def audit(cloud, tmp_path, monkeypatch):
    """`audit(recording, *options)`: Nova and Neutron answer as recorded."""
    with ExitStack() as stopped_at_the_end:

        def run(recording: str, *options: object) -> Ran:
            adapter = stopped_at_the_end.enter_context(answers.replayed(answers.load(recording)))
            url = adapter.get_endpoint()
            auth = {"endpoint": url, "token": "admin"}
            mine = {
                "auth_type": "admin_token",
                "auth": auth,
                "placement_endpoint": cloud.placement_url,
                "compute_endpoint": url,
                "network_endpoint": url,
            }
            (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": mine}}))
            monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
            return trueup("audit", "--nova-api", "--os-cloud", "mine", *ROWS, *options)

        yield run


def leak(cloud: RecordedCloud) -> None:
    """The server that was deleted still holds something."""
    providers = requests.get(
        f"{cloud.placement_url}/resource_providers?name={DEVSTACK2}", headers=HEADERS, timeout=30
    ).json()["resource_providers"]
    body = {
        "allocations": {providers[0]["uuid"]: {"resources": {"VCPU": 1, "MEMORY_MB": 64}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
    }
    headers = HEADERS | {"OpenStack-API-Version": "placement 1.28"}
    url = f"{cloud.placement_url}/allocations/{GONE}"
    assert requests.put(url, json=body, headers=headers, timeout=30).status_code == 204


def test_a_healthy_cloud_is_clean_and_what_is_not_told_is_named(audit):
    ran = audit("every-kind/api", "--all")
    assert ran.code == 0, ran.out + ran.err
    subjects = {
        verdict: {row["Subject"] for row in ran.json() if row["Verdict"] == verdict}
        for verdict in ("left alone", "right")
    }
    assert sum(map(len, subjects.values())) == len(ran.json())
    [moving] = [row for row in ran.json() if row["Subject"] == MOVING]
    assert moving["Verdict"] == "left alone"
    assert "its flavor before the resize is not known; it holds VCPU=" in str(moving["Evidence"])
    assert subjects["right"]
    assert "Neutron (1 port)" in ran.err
    assert ": archived rows, build requests" in ran.err


def test_what_a_deleted_server_holds_is_found(audit, cloud):
    leak(cloud)
    ran = audit("every-kind/api")
    assert [(row["Defect"], row["Subject"]) for row in ran.json()] == [
        ("orphaned-allocation", GONE)
    ]
    assert ran.code == 3


def test_while_a_cell_is_down_nothing_is_released(audit, cloud):
    leak(cloud)
    ran = audit("every-kind/api-cell-down")
    assert not [row for row in ran.json() if row["Verdict"] == "finding"]
    assert "cells that are down: 1 servers and 1 services are UNKNOWN: devstack3" in ran.err
    assert ran.code == 5


@pytest.mark.parametrize("way", ["url", "conf"])
def test_placements_database_gives_the_same_ledger(audit, cloud, tmp_path, way):
    url = cloud.placement_database_url
    conf = tmp_path / "placement.conf"
    conf.write_text(f"[placement_database]\nconnection = {url}\n")
    options = ("--placement-database", url) if way == "url" else ("--placement-conf", conf)
    ran = audit("every-kind/api", *options)
    assert (ran.code, ran.json()) == (0, [])
