# SPDX-License-Identifier: Apache-2.0
"""trueup why --flavor: Nova and Glance say what is asked, and a ledger answers."""

import json
from contextlib import closing

import pytest

from tests.cli.running import trueup
from tests.clouds import answers
from tests.placement.client import Client
from trueup.exit_codes import ExitCode
from trueup.placement.app import make_app
from trueup.placement.store import schema

IMAGE = "9bd2f7a5-7f7c-4a4b-8f0b-6f5f0c3c2f11"
FLAVOR = {
    "id": "4",
    "name": "pinned",
    "vcpus": 4,
    "ram": 8192,
    "disk": 20,
    "swap": "",
    "OS-FLV-EXT-DATA:ephemeral": 0,
    "extra_specs": {"hw:cpu_policy": "dedicated", "trait:CUSTOM_FAST": "required"},
}
ASKED = (
    "asked: required=CUSTOM_FAST,HW_CPU_X86_AVX2&resources=DISK_GB:20,MEMORY_MB:8192,PCPU:4"
    "&root_required=!COMPUTE_STATUS_DISABLED"
)
RECORDED: answers.Answers = {
    "GET /flavors/4 2.61": (200, {"flavor": FLAVOR}),
    "GET /flavors/pinned 2.61": (404, {}),
    "GET /flavors/none 2.61": (404, {}),
    "GET /flavors/detail?is_public=None 2.61": (
        200,
        {"flavors": [FLAVOR], "flavors_links": [{"rel": "next"}]},
    ),
    "GET /flavors/detail?is_public=None&marker=4 2.61": (200, {"flavors": []}),
    f"GET /v2/images/{IMAGE}": (
        200,
        {"id": IMAGE, "trait:HW_CPU_X86_AVX2": "required", "size": 7},
    ),
    "GET /v2/images/shared": (404, {}),
    "GET /v2/images?limit=2&name=shared": (
        200,
        {"images": [{"id": IMAGE, "hw_cpu_policy": "shared"}]},
    ),
    "GET /v2/images/twins": (404, {}),
    "GET /v2/images?limit=2&name=twins": (200, {"images": [{"id": "a"}, {"id": "b"}]}),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> str:
    """One host, whose processors are shared."""
    url = f"sqlite:///{tmp_path_factory.mktemp('flavor') / 'placement.sqlite'}"
    schema.create(url)
    with closing(make_app(url, {"api": {"auth_strategy": "noauth2"}})) as application:
        client = Client(application)
        client.make_provider(1, inventories={"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 100})
        assert client.put("/traits/CUSTOM_FAST").status == 201
    return url


@pytest.fixture
def why(ledger, tmp_path, monkeypatch):
    """`why(*options)`: Nova and Glance answer as above."""
    with answers.replayed(RECORDED) as adapter:
        url = adapter.get_endpoint()
        mine = {
            "auth_type": "admin_token",
            "auth": {"endpoint": url, "token": "admin"},
            "compute_endpoint": url,
            "image_endpoint": url,
        }
        (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": mine}}))
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
        yield lambda *words: trueup("why", "--database", ledger, "--os-cloud", "mine", *words)


@pytest.mark.parametrize("name", ["4", "pinned"])
def test_the_query_of_a_flavor_and_an_image_is_asked(why, name):
    ran = why("--flavor", name, "--image", IMAGE, "-f", "json")
    assert ran.code == ExitCode.FINDINGS, ran.err
    assert ASKED in ran.err
    lacking = {row["Filter"]: row["Nearest that it leaves out"] for row in ran.json()}
    assert any("PCPU" in line for line in lacking["resources=PCPU:4"])


def test_a_root_disk_on_a_volume_is_not_asked_for(why):
    ran = why("--flavor", "4", "--volume")
    assert "resources=MEMORY_MB:8192,PCPU:4" in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--flavor", "none"), "Nova has no flavor with the name or id 'none'"),
        (("--flavor", "4", "--image", "twins"), "Glance has 2 images with the name or id 'twins'"),
        (("--image", IMAGE, "resources=VCPU:1"), "only of use with --flavor"),
        (
            ("--flavor", "4", "resources=VCPU:1"),
            "name a query, or a log and a request id, or a flavor",
        ),
        ((), "name a query, or a log and a request id, or a flavor"),
    ],
)
def test_what_is_not_there_or_of_no_use_is_refused(why, words, sentence):
    ran = why(*words)
    assert ran.code == ExitCode.USAGE
    assert sentence in ran.err


def test_a_flavor_that_contradicts_the_image_is_refused_as_nova_does(why, monkeypatch):
    shared = {**FLAVOR, "extra_specs": {"hw:cpu_policy": "shared"}}
    mixed = {"id": IMAGE, "hw_cpu_policy": "dedicated"}
    monkeypatch.setitem(RECORDED, "GET /flavors/4 2.61", (200, {"flavor": shared}))
    monkeypatch.setitem(RECORDED, f"GET /v2/images/{IMAGE}", (200, mixed))
    ran = why("--flavor", "4", "--image", IMAGE)
    assert ran.code == ExitCode.USAGE
    assert (
        "Nova refuses a server with this flavor and image: its flavor requests shared CPUs"
        in ran.err
    )


def test_a_nova_that_does_not_answer_is_incomplete(why, monkeypatch):
    monkeypatch.setitem(RECORDED, "GET /flavors/4 2.61", (503, {"error": {"message": "away"}}))
    ran = why("--flavor", "4")
    assert ran.code == ExitCode.INCOMPLETE
    assert "Nova's API" in ran.err
