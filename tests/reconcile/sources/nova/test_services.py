# SPDX-License-Identifier: Apache-2.0
"""Nova's compute services over its API; what is written to them: tests/reconcile/changes."""

import pytest

from tests.reconcile.sources.broken_server import Reply, adapter_of, answering
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.nova.services import MICROVERSION, ComputeServices

PATH = "GET /os-services?binary=nova-compute&host=h1"


def test_a_service_is_asked_for_at_the_version_that_gives_it_a_uuid():
    asked = []
    row = {"id": "s", "host": "h1"}
    with answering({PATH: Reply(200, {"services": [row]})}, asked) as url:
        assert ComputeServices(adapter_of(url)).row("h1") == row
    assert asked[0].headers["HTTP_OPENSTACK_API_VERSION"] == f"placement {MICROVERSION}"


@pytest.mark.parametrize(
    ("reply", "error"),
    [(Reply(403, {}), AccessDenied), (Reply(500, {}), Unreachable), (Reply(200, []), Unreachable)],
)
def test_what_is_no_answer_is_said(reply, error):
    with answering({PATH: reply}) as url, pytest.raises(error):
        ComputeServices(adapter_of(url)).row("h1")
