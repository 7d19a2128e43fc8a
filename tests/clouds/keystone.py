# SPDX-License-Identifier: Apache-2.0
"""What Keystone says of Nova's limits, as `tests.clouds.answers` gives it."""

from collections.abc import Mapping

from tests.clouds.answers import Answers

SERVICE, REGION, ENDPOINT = "nova-service", "RegionOne", "nova-endpoint"
_ENDPOINT = {"id": ENDPOINT, "service_id": SERVICE, "region_id": REGION}


def limits(
    registered: Mapping[str, int],
    of_projects: Mapping[tuple[str, str], int],
    model: str = "flat",
) -> Answers:
    """These limits for all, and for single projects by project and resource."""
    ours = f"service_id={SERVICE}&region_id={REGION}"
    default = [
        {"resource_name": name, "default_limit": limit} for name, limit in registered.items()
    ]
    single = [
        {"project_id": project, "resource_name": name, "resource_limit": limit}
        for (project, name), limit in of_projects.items()
    ]
    of_domain = {"project_id": None, "domain_id": "d", "resource_name": "x", "resource_limit": 1}
    return {
        f"GET /v3/endpoints/{ENDPOINT}": (200, {"endpoint": _ENDPOINT}),
        "GET /v3/services?type=compute": (200, {"services": [{"id": SERVICE}]}),
        f"GET /v3/endpoints?service_id={SERVICE}&interface=public": (
            200,
            {"endpoints": [_ENDPOINT]},
        ),
        "GET /v3/services?type=volume": (200, {"services": []}),
        "GET /v3/limits/model": (200, {"model": {"name": model, "description": ""}}),
        f"GET /v3/registered_limits?{ours}": (200, {"registered_limits": default}),
        f"GET /v3/limits?{ours}": (200, {"limits": [*single, of_domain]}),
    }
