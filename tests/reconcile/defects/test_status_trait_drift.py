# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, guards, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.changes.traits import Traits
from trueup.reconcile.defects import status_trait_drift
from trueup.reconcile.place_guards import ServiceSetting
from trueup.reconcile.steps import ServiceDown

CLOUD = "cell1\n  host h1 VCPU=8 traits=CUSTOM_A{} {}\n"
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
