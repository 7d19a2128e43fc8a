# SPDX-License-Identifier: Apache-2.0
"""The logs of the whole run, read last: which errors there were, and which requests failed."""

from collections import Counter

import pytest

from tests.real.cloud.logs import requests_in


def served_by(cloud, kind):
    with cloud.processes.log(f"placement-{kind}").open(errors="replace") as log:
        return list(requests_in(log))


@pytest.mark.short
def test_no_request_to_trueup_failed(cloud, record_property):
    requests = served_by(cloud, "trueup")
    record_property("requests", len(requests))
    assert requests
    assert Counter(one for one in requests if one.status >= 500) == {}


def test_no_error_is_logged_that_upstream_does_not_have(cloud, logbook, record_property):
    on_upstream = logbook.errors("upstream")
    with_trueup = logbook.errors("trueup") + logbook.errors("both")
    record_property("kinds of errors on upstream's", len(on_upstream))
    record_property("kinds of errors with Trueup", len(with_trueup))
    assert sorted(with_trueup.keys() - on_upstream.keys()) == []


@pytest.mark.short
def test_every_process_ran_to_the_end(cloud):
    assert cloud.processes.ended() == []
