# SPDX-License-Identifier: Apache-2.0
"""trueup why, over a database that a service wrote."""

from contextlib import closing

import pytest

from tests.cli.running import trueup
from tests.placement.client import UUID, Client
from trueup.exit_codes import ExitCode
from trueup.placement.app import make_app
from trueup.placement.store import schema

LINE = (
    "INFO placement.requestlog [req-1 req-2] 10.0.0.9 "
    '"GET /allocation_candidates?{}" status: 200 len: 53 microversion: 1.36\n'
)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> str:
    """Three hosts with 8 VCPU, of which the first has 2 free and the second has none."""
    url = f"sqlite:///{tmp_path_factory.mktemp('why') / 'placement.sqlite'}"
    schema.create(url)
    with closing(make_app(url, {"api": {"auth_strategy": "noauth2"}})) as application:
        client = Client(application)
        for number in (1, 2, 3):
            body = {"uuid": UUID(number), "name": f"compute-{number}"}
            assert client.post("/resource_providers", body).status == 200
            inventories = {
                "resource_provider_generation": 0,
                "inventories": {"VCPU": {"total": 8}},
            }
            path = f"/resource_providers/{UUID(number)}/inventories"
            assert client.put(path, inventories).status == 200
        for consumer, provider, amount in ((100, 1, 6), (101, 2, 8)):
            assert client.claim(consumer, {provider: {"VCPU": amount}}).status == 204
        traits = {"resource_provider_generation": 1, "traits": ["COMPUTE_STATUS_DISABLED"]}
        assert client.put(f"/resource_providers/{UUID(3)}/traits", traits).status == 200
    return url


def test_it_tells_which_filter_leaves_out_the_last_host(ledger):
    ran = trueup("why", "--database", ledger, "resources=VCPU:4&required=!COMPUTE_STATUS_DISABLED")
    assert ran.code == ExitCode.FINDINGS
    assert (
        "No host is left after required=!COMPUTE_STATUS_DISABLED: it leaves out the last 1 of 3."
    ) in ran.err
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ran.out.splitlines()]
    assert [row for row in rows if row] == [
        ["Filter", "Hosts left", "Left without it", "Nearest that it leaves out"],
        ["all hosts", "3", "", ""],
        ["resources=VCPU:4", "1", "1", "compute-1: VCPU: 2 free of 8"],
        ["", "", "", "compute-2: VCPU: 0 free of 8"],
        ["required=!COMPUTE_STATUS_DISABLED", "0", "1", "compute-3: has COMPUTE_STATUS_DISABLED"],
    ]


@pytest.mark.parametrize("option", ["-c", "--sort-column"])
def test_a_column_that_it_does_not_have_is_refused(ledger, option):
    ran = trueup("why", "--database", ledger, option, "Host", "resources=VCPU:2")
    assert (ran.code, ran.out) == (2, "")
    assert "no column Host. There are: Filter, Hosts left, " in ran.err


def test_a_query_with_candidates_ends_with_0(ledger):
    ran = trueup("why", "--database", ledger, "-f", "json", "resources=VCPU:2")
    assert ran.code == ExitCode.CLEAN
    assert "2 of 3 hosts have candidates." in ran.err
    assert ran.json()[1]["Nearest that it leaves out"] == ["compute-2: VCPU: 0 free of 8"]


def test_the_query_can_come_from_a_log(ledger, tmp_path):
    log = tmp_path / "placement.log"
    log.write_text(LINE.format("resources=VCPU%3A9&limit=5"))
    ran = trueup("why", "--database", ledger, "--from-log", log, "--request-id", "req-1")
    assert ran.code == ExitCode.FINDINGS
    assert "asked: resources=VCPU%3A9&limit=5" in ran.err
    assert "resources=VCPU:9" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a query, or a log and a request id"),
        (["resources=VCPU:1", "--request-id", "req-1"], "only of use together"),
        (["--from-log", "/no/such", "--request-id", "req-1"], "cannot be read"),
        (["--from-log", "/dev/null", "--request-id", "req-1"], "no line with req-1"),
        (
            ["--from-log", "/dev/null", "--request-id", "req-1", "--microversion", "1.2"],
            "--microversion would be ignored",
        ),
        (["resources=VCPU:1", "--config-file", "x"], "name two ledgers"),
        (
            ["resources=NOBODY:1"],
            "Invalid resource class in resources parameter: No such resource class NOBODY",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(ledger, words, says):
    ran = trueup("why", "--database", ledger, *words)
    assert ran.code == ExitCode.USAGE
    assert ran.err.startswith("trueup: ")
    assert says in ran.err


def test_a_database_that_is_away_ends_with_5():
    ran = trueup("why", "--database", "mysql+pymysql://x@127.0.0.1:1/p", "resources=VCPU:1")
    assert ran.code == ExitCode.INCOMPLETE
    assert "the database does not answer" in ran.err
