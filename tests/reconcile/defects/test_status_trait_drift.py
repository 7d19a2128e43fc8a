# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import declined, found, guards, steps, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import status_trait_drift
from trueup.reconcile.steps import ServiceDown, ServiceSetting, Traits
from trueup.reconcile.verdicts import Severity

CLOUD = "cell1\n  host h1 VCPU=8 version=38 traits=CUSTOM_A{} {}\n"
DISABLED = "COMPUTE_STATUS_DISABLED"


@pytest.mark.parametrize(
    ("trait", "service", "after"),
    [
        ("", "disabled", (DISABLED, "CUSTOM_A")),
        (f",{DISABLED}", "", ("CUSTOM_A",)),
    ],
)
def test_the_trait_follows_the_service_record_and_other_traits_stay(trait, service, after):
    made = steps(status_trait_drift, CLOUD.format(trait, service))
    [change] = made[0].changes
    assert change.after == Traits(after)
    setting = ServiceSetting(uuid_of("cell1"), "h1", service == "disabled")
    assert guards(made, ServiceSetting) == [setting]
    assert guards(made, ServiceDown) == [ServiceDown(uuid_of("cell1"), "h1")]


@pytest.mark.parametrize(("trait", "service"), [("", ""), (f",{DISABLED}", "disabled")])
def test_where_both_agree_nothing_is_said(trait, service):
    assert verdicts(status_trait_drift, CLOUD.format(trait, service)) == []


def test_a_nova_compute_that_runs_corrects_it():
    up = CLOUD.format("", "disabled up")
    assert found(status_trait_drift, up).evidence["nova_compute"] == "up"
    assert "corrects it within five minutes" in declined(status_trait_drift, up)


def test_it_is_worse_where_a_nova_compute_that_runs_does_not_correct_it():
    assert found(status_trait_drift, CLOUD.format("", "disabled up")).severity is Severity.MEDIUM
    assert found(status_trait_drift, CLOUD.format("", "disabled")).severity is Severity.LOW


@pytest.mark.parametrize("lost", ["services", "traits"])
def test_what_was_not_read_again_has_no_step(lost):
    cloud = CLOUD.format("", "disabled")
    facts = facts_of(cloud)
    without = {uuid: replace(row, traits=None) for uuid, row in facts.providers.items()}
    later = {"services": replace(facts, services=()), "traits": replace(facts, providers=without)}
    assert "not read again" in declined(status_trait_drift, cloud, later[lost])
