# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.lab.placement_client import PlacementClient, PlacementRefused


def test_a_refusal_has_request_status_and_text(healthy):
    with pytest.raises(PlacementRefused) as refused:
        healthy.placement.get("/resource_providers/11111111-1111-4111-8111-111111111111")
    assert refused.value.status.startswith("404")
    assert "GET /resource_providers/" in str(refused.value)


def test_it_sends_one_microversion_as_an_administrator():
    seen = {}

    def application(environ, start_response):
        seen.update(environ)
        start_response("204 No Content", [])
        return []

    assert PlacementClient(application).put("/traits/CUSTOM_A?b=c", {}) is None
    assert seen["HTTP_OPENSTACK_API_VERSION"] == "placement 1.36"
    assert seen["HTTP_X_AUTH_TOKEN"] == "admin"
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/traits/CUSTOM_A", "b=c")
