# SPDX-License-Identifier: Apache-2.0
"""Limits as Keystone and Nova's API database have them."""

import pytest
from nova.conf import CONF
from nova.limit import utils
from oslo_limit.exception import OverLimitInfo, ProjectOverLimit

from tests.clouds import keystone
from tests.clouds.answers import Answers, replayed
from trueup.lab.nova.api_tables import API_SCHEMA, QUOTA_CLASSES, QUOTAS
from trueup.lab.nova.databases import sqlite_url, transaction
from trueup.reconcile.facts import Limits, QuotaRules
from trueup.reconcile.sources.database import Database
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.limits import LimitEndpoint, own_quotas, unified_limits

ANSWERS = keystone.limits({"servers": 10, "class:VCPU": -1}, {("p1", "servers"): 2})


def read(of: LimitEndpoint, answers: Answers = ANSWERS) -> Limits:
    with replayed(answers) as adapter:
        adapter.endpoint_override = f"{adapter.get_endpoint()}/v3"
        return unified_limits(adapter, of)


@pytest.mark.parametrize(
    "of", [LimitEndpoint(keystone.ENDPOINT), LimitEndpoint(service_type="compute")]
)
def test_a_project_without_a_limit_of_its_own_has_the_registered_one(of):
    limits = read(of)
    assert [limits.of(one, "servers") for one in ("p1", "p2")] == [2, 10]
    assert limits.of("p1", "class:VCPU") == -1
    assert limits.of("p1", "class:PCPU") is None


def test_zero_is_a_limit_and_below_zero_is_none():
    answers = keystone.limits(
        {"class:CUSTOM_X": 5, "class:VCPU": 5},
        {("p", "class:CUSTOM_X"): 0, ("p", "class:VCPU"): -1},
    )
    limits = read(LimitEndpoint(keystone.ENDPOINT), answers)
    assert [limits.of("p", name) for name in ("class:CUSTOM_X", "class:VCPU")] == [0, -1]
    assert (limits.model, limits.usable) == ("flat", True)
    answers |= {"GET /v3/limits/model": (200, {"model": {"name": "strict_two_level"}})}
    assert not read(LimitEndpoint(keystone.ENDPOINT), answers).usable


def test_limits_of_other_regions_do_not_count():
    elsewhere = {"id": "e2", "service_id": keystone.SERVICE, "region_id": "Two"}
    ours = f"service_id={keystone.SERVICE}&region_id=Two"
    both = {"endpoints": [elsewhere, elsewhere | {"id": "e1"}]}
    answers = ANSWERS | {
        f"GET /v3/endpoints?service_id={keystone.SERVICE}&region_id=Two&interface=internal": (
            200,
            {"endpoints": [elsewhere]},
        ),
        f"GET /v3/endpoints?service_id={keystone.SERVICE}&interface=public": (200, both),
        f"GET /v3/registered_limits?{ours}": (
            200,
            {"registered_limits": [{"resource_name": "servers", "default_limit": 3}]},
        ),
        f"GET /v3/limits?{ours}": (200, {"limits": []}),
    }
    second = LimitEndpoint(service_type="compute", region="Two", interface="internalURL")
    assert read(second, answers).default == {"servers": 3}
    with pytest.raises(Unreachable, match="2 endpoints"):
        read(LimitEndpoint(service_type="compute"), answers)


def test_without_a_region_the_first_limit_of_a_project_counts():
    ours = f"service_id={keystone.SERVICE}"
    endpoint = {"id": "e", "service_id": keystone.SERVICE, "region_id": None}
    rows = [{"project_id": "p", "resource_name": "servers", "resource_limit": n} for n in (4, 5)]
    answers = ANSWERS | {
        "GET /v3/endpoints/e": (200, {"endpoint": endpoint}),
        f"GET /v3/registered_limits?{ours}": (200, {"registered_limits": []}),
        f"GET /v3/limits?{ours}": (200, {"limits": rows}),
    }
    assert read(LimitEndpoint("e"), answers).of("p", "servers") == 4


@pytest.mark.parametrize("path", ["limits/model", "registered_limits", "limits"])
@pytest.mark.parametrize(("status", "error"), [(403, AccessDenied), (404, Unreachable)])
def test_a_refusal_or_a_release_without_limits_is_no_answer(path, status, error):
    refused = (status, {"error": {"message": "no"}})
    answers = {
        key: refused if key.removeprefix("GET /v3/").partition("?")[0] == path else answer
        for key, answer in ANSWERS.items()
    }
    with pytest.raises(error):
        read(LimitEndpoint(keystone.ENDPOINT), answers)


def test_an_incomplete_or_ambiguous_answer_is_none():
    with pytest.raises(Unreachable, match="0 services"):
        read(LimitEndpoint(service_type="volume"))
    cut = {
        key: (status, body | {"truncated": True} if "GET /v3/limits?" in key else body)
        for key, (status, body) in ANSWERS.items()
    }
    with pytest.raises(Unreachable, match="list_limit"):
        read(LimitEndpoint(keystone.ENDPOINT), cut)


def test_quotas_of_a_project_come_before_those_of_the_class_and_of_the_file(tmp_path):
    url = sqlite_url(tmp_path / "nova_api.sqlite")
    with transaction(url) as connection:
        API_SCHEMA.create_all(connection)
        connection.execute(
            QUOTA_CLASSES.insert(),
            [
                {"class_name": "default", "resource": "cores", "hard_limit": 30},
                {"class_name": "other", "resource": "ram", "hard_limit": 1},
            ],
        )
        rows = [("p1", "cores", 5), ("p2", "ram", None)]
        connection.execute(
            QUOTAS.insert(),
            [{"project_id": p, "resource": r, "hard_limit": limit} for p, r, limit in rows],
        )
    limits = own_quotas(Database("Nova's API database", url), {"cores": 20, "ram": 51200})
    assert [limits.of(one, "cores") for one in ("p1", "p2")] == [5, 30]
    assert [limits.of(one, "ram") for one in ("p1", "p2")] == [51200, -1]


@pytest.mark.parametrize("strategy", ["require", "ignore"])
@pytest.mark.parametrize("listed", [[], ["servers"], ["class:VCPU", "servers"]])
@pytest.mark.parametrize("resource", ["servers", "class:VCPU", "class:DISK_GB"])
def test_nova_refuses_a_resource_without_a_limit_as_the_rules_say(
    strategy, listed, resource, monkeypatch
):
    class Nobody:
        def registered_limits(self):
            return []

    monkeypatch.setattr(utils, "_identity_client", Nobody)
    CONF.set_override("unified_limits_resource_strategy", strategy, "quota")
    CONF.set_override("unified_limits_resource_list", listed, "quota")
    try:
        over = ProjectOverLimit("p", [OverLimitInfo(resource, 0, 0, 1)])
        refused = utils.should_enforce(over)
    finally:
        CONF.clear_override("unified_limits_resource_strategy", "quota")
        CONF.clear_override("unified_limits_resource_list", "quota")
    rules = QuotaRules(required=strategy == "require", listed=frozenset(listed))
    assert rules.refuses(resource) == refused
