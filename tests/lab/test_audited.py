# SPDX-License-Identifier: Apache-2.0
"""An audit finds exactly the drift that the lab planted."""

from collections.abc import Iterator

import pytest

from tests.lab.reading import held
from trueup.lab import Drift, Planted, SmallCloud
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.collect import collect
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.verdicts import AuditOptions


def look(cloud: SmallCloud) -> Audit:
    connected = from_nova_conf(cloud.nova_conf)
    try:
        return audit(collect(connected, lambda *_: None), AuditOptions())
    finally:
        connected.close()


@pytest.fixture(scope="module")
def looks(make_cloud) -> Iterator[tuple[SmallCloud, Audit, tuple[Planted, ...], Audit]]:
    """Audits of one cloud, before and after drift was planted."""
    with make_cloud(now=None) as cloud:
        before = look(cloud)
        planted = cloud.plant(Drift(3, 3, 3, 3, 3))
        yield cloud, before, planted, look(cloud)


def test_a_healthy_cloud_has_no_finding_and_nothing_unchecked(looks):
    _, before, _, _ = looks
    assert before.findings == ()
    assert not before.incomplete


def test_an_audit_finds_exactly_the_planted_drift(looks):
    _, _, planted, after = looks
    assert {(finding.defect, finding.subject.uuid) for finding in after.findings} == {
        (drift.kind, drift.consumer_uuid) for drift in planted
    }
    assert not after.incomplete


def test_containers_and_instances_in_motion_have_no_finding(looks):
    cloud, _, _, after = looks
    hands_off = {claim.consumer_uuid for claim in cloud.blueprint.containers}
    hands_off |= {claim.consumer_uuid for claim in cloud.blueprint.boots}
    for move in cloud.blueprint.open_moves:
        hands_off |= {move.uuid, move.instance.uuid}
    assert hands_off <= held(cloud).keys()
    assert hands_off.isdisjoint(finding.subject.uuid for finding in after.findings)
