# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import UUID, Client
from trueup.placement.api.versions import NEWEST
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.why import (
    LedgerAway,
    Question,
    QuestionUnusable,
    question_in,
    question_of,
    why,
)

PLACEMENT_LOG = (
    "2026-11-22 10:00:00.1 7 INFO placement.requestlog [req-global req-own - - - -] 10.0.0.9 "
    '"GET /placement/allocation_candidates?limit=1000&resources=VCPU%3A4" status: 200 len: 53 '
    "microversion: 1.36"
)
NOVA_LOG = (
    "2026-11-22 10:00:00.1 9 DEBUG keystoneauth.session [None req-global - - - -] REQ: curl -g -i "
    '-X GET "http://controller/placement/allocation_candidates?limit=1000&resources=VCPU%3A4" '
    '-H "Accept: application/json" -H "OpenStack-API-Version: placement 1.36"'
)


@pytest.mark.parametrize("line", [PLACEMENT_LOG, NOVA_LOG])
def test_a_query_is_found_by_its_request(line):
    other = line.replace("VCPU", "DISK_GB").replace("req-global", "req-other")
    found = question_in([other, line, "req-global: something else", other], "req-global")
    assert found == question_of("limit=1000&resources=VCPU%3A4", "1.36")


def test_of_the_lines_about_one_request_that_with_the_microversion_counts():
    """Nova's log names a request up to three times, and only the first has its headers."""
    connection, reply = (
        "2026-11-22 10:00:00.2 9 DEBUG urllib3.connectionpool [None req-global - - - -] "
        'http://controller "GET /placement/allocation_candidates?limit=1000&resources=VCPU%3A4 '
        'HTTP/1.1" 200 989',
        "2026-11-22 10:00:00.3 9 DEBUG keystoneauth.session [None req-global - - - -] GET call to "
        "placement for http://controller/placement/allocation_candidates?limit=1000&"
        "resources=VCPU%3A4 used request id req-placement",
    )
    found = question_in([NOVA_LOG, connection, reply], "req-global")
    assert found == question_of("limit=1000&resources=VCPU%3A4", "1.36")
    second = reply.replace("VCPU", "PCPU")
    assert question_in([NOVA_LOG, second], "req-global").query == "limit=1000&resources=PCPU%3A4"


def test_a_request_is_found_by_its_whole_id():
    for part in ("req-glob", "global", "req"):
        with pytest.raises(QuestionUnusable, match=f"no line with {part} "):
            question_in([PLACEMENT_LOG], part)
    with pytest.raises(QuestionUnusable, match="empty"):
        question_in([PLACEMENT_LOG], "")


def test_a_request_that_asked_for_no_candidates_is_told():
    with pytest.raises(QuestionUnusable, match="no line with req-nobody"):
        question_in([PLACEMENT_LOG], "req-nobody")


@pytest.mark.parametrize("before", ["", "?", "http://controller/placement/allocation_candidates?"])
def test_a_query_may_come_with_its_url(before):
    assert question_of(f"{before}resources=VCPU:1", None) == Question("resources=VCPU:1", NEWEST)


@pytest.mark.parametrize("version", ["1.99", "new"])
def test_a_microversion_that_is_none_is_refused(version):
    with pytest.raises(QuestionUnusable, match="microversion"):
        question_of("resources=VCPU:1", version)


def test_the_ledger_is_read_and_hosts_have_their_names(client: Client, empty_ledger):
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8})
    name = client.get(f"/resource_providers/{UUID(1)}").json["name"]
    found = why((), empty_ledger, question_of("resources=VCPU:16", None))
    assert (found.explanation.hosts, found.explanation.left) == (2, 0)
    [step] = found.explanation.steps
    assert found.names[step.nearest[0].root_uuid] == name
    assert step.nearest[0].lacks == "VCPU: 8 free of 8"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("resources=NOBODY:1", "NOBODY"),
        ("resources=VCPU:1&required=NOBODY", "NOBODY"),
        ("resources=VCPU", "Badly formed resources parameter"),
        ("required=HW_CPU_X86_AVX2", "resources"),
        ("resources_A=VCPU:1&resources_B=VCPU:1", "group_policy"),
        ("wrong=1", "wrong"),
    ],
)
def test_what_the_service_would_refuse_is_refused(empty_ledger, query, says):
    with pytest.raises(QuestionUnusable, match=says):
        why((), empty_ledger, question_of(query, None))


def test_what_the_service_would_refuse_is_one_line(empty_ledger):
    with pytest.raises(QuestionUnusable) as refused:
        why((), empty_ledger, question_of("wrong=1", None))
    assert "\n" not in str(refused.value)


def test_a_word_that_is_no_query_is_answered_with_an_example():
    with pytest.raises(QuestionUnusable, match="Write it as in 'resources=VCPU:4"):
        question_of("VCPU:4", None)


def test_a_database_that_cannot_be_read_is_told(tmp_path):
    question = question_of("resources=VCPU:1", None)
    file = tmp_path / "empty.sqlite"
    with pytest.raises(ConfigurationUnusable, match=f"{file} does not exist"):
        why((), f"sqlite:///{file}", question)
    assert not file.exists()
    file.touch()
    with pytest.raises(ConfigurationUnusable, match="cannot be read"):
        why((), f"sqlite:///{file}", question)
    with pytest.raises(LedgerAway):
        why((), "mysql+pymysql://nobody@127.0.0.1:1/placement", question)
    with pytest.raises(ConfigurationUnusable, match=r"placement\.conf names no .* with --database"):
        why([f"--config-file={_written(tmp_path)}"], None, question)


def _written(folder):
    path = folder / "placement.conf"
    path.write_text("[api]\nauth_strategy = noauth2\n")
    return path
