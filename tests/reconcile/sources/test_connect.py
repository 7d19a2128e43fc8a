# SPDX-License-Identifier: Apache-2.0
"""nova.conf, clouds.yaml and the environment, as services connected by them.

Servers here only show what they were asked; Keystone is one that gives a token and a catalog.
"""

import json
from pathlib import Path

import pytest

from tests.reconcile.sources.broken_server import VERSIONS, Reply, Request, answering
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import (
    Databases,
    from_names,
    from_nova_conf,
    placement_database,
)
from trueup.reconcile.sources.errors import (
    DatabaseUnusable,
    LoginUnusable,
    SettingMissing,
    SettingsUnreadable,
)

API = "[api_database]\nconnection = sqlite:///none.sqlite\n"
PLACEMENT = "[placement]\nauth_type = none\nendpoint = http://placement.example\n"
PASSWORD = {
    "auth_type": "password",
    "username": "nova",
    "user_domain_name": "Default",
    "password": "s3cret",
    "project_name": "service",
    "project_domain_name": "Default",
    "region_name": "RegionTwo",
}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "nova.conf"
    path.write_text(text)
    return path


def connected(tmp_path: Path, **options: object) -> Cloud:
    lines = "".join(f"{name} = {value}\n" for name, value in options.items())
    return from_nova_conf(written(tmp_path, f"{API}[placement]\n{lines}"))


def asked_of(cloud: Cloud, asked: list[Request]) -> list[Request]:
    """Whatever the cloud's Placement was asked for one provider."""
    assert cloud.placement.newest_minor() == 38
    assert cloud.placement.provider_generation("p") == 7
    return [request for request in asked if not request.line.startswith("POST")]


def placement_at(path: str = "") -> dict[str, Reply]:
    return {
        f"GET {path}/": Reply(200, VERSIONS),
        f"GET {path}/resource_providers/p": Reply(200, {"generation": 7}),
    }


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(SettingsUnreadable) as refused:
        from_nova_conf(tmp_path / "none.conf")
    assert refused.value.path == str(tmp_path / "none.conf")
    assert refused.value.reason


@pytest.mark.parametrize("text", ["no section at all\n", "[api_database\n", "connection = x\n[a"])
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(SettingsUnreadable) as refused:
        from_nova_conf(path)
    assert refused.value.path == str(path)
    assert "\n" not in refused.value.reason


@pytest.mark.parametrize(
    ("text", "section", "option"),
    [
        ("", "api_database", "connection"),
        ("[DEFAULT]\ndebug = true\n", "api_database", "connection"),
        ("[api_database]\nconnection =\n", "api_database", "connection"),
        ("[database]\nconnection = sqlite:///x\n", "api_database", "connection"),
        (API, "placement", "auth_type"),
        (f"{API}[placement]\nregion_name = RegionOne\n", "placement", "auth_type"),
        (f"{API}[placement]\nauth_type =\n", "placement", "auth_type"),
    ],
    ids=range(7),
)
def test_a_section_or_option_that_is_missing_is_named(tmp_path, text, section, option):
    path = written(tmp_path, text)
    with pytest.raises(SettingMissing) as refused:
        from_nova_conf(path)
    assert (refused.value.path, refused.value.section, refused.value.option) == (
        str(path), section, option
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "section", "near"),
    [
        ("[api_databse]\nconnection = sqlite:///x\n", "api_database", "api_databse"),
        (f"{API}[placment]\nauth_type = none\n", "placement", "placment"),
        (f"{API}{PLACEMENT}[neutorn]\nauth_type = none\n", "neutron", "neutorn"),
    ],
)
def test_a_misspelt_section_is_pointed_out(tmp_path, text, section, near):
    with pytest.raises(SettingMissing) as refused:
        from_nova_conf(written(tmp_path, text))
    assert (refused.value.section, refused.value.near) == (section, near)


def test_an_auth_type_that_is_none_is_refused_by_name(tmp_path):
    with pytest.raises(SettingsUnreadable) as refused:
        connected(tmp_path, auth_type="nosuch")
    assert "nosuch" in refused.value.reason


def test_a_database_that_cannot_be_opened_is_refused_by_name(tmp_path):
    text = "[api_database]\nconnection = nosuch://host/nova\n[placement]\nauth_type = none\n"
    with pytest.raises(DatabaseUnusable):
        from_nova_conf(written(tmp_path, text))


def test_other_sections_and_options_do_not_matter(tmp_path):
    text = f"[DEFAULT]\nnosuch = 1\n[neutron]\nurl = x\n{API}mysql_sql_mode = TRADITIONAL\n"
    from_nova_conf(written(tmp_path, f"{text}[placement]\nauth_type = none\nnosuch = 2\n")).close()


def test_an_escaped_dollar_is_one(tmp_path):
    folder = tmp_path / "a$b"
    folder.mkdir()
    (folder / "nova.sqlite").write_bytes(b"")
    text = f"[api_database]\nconnection = sqlite:///{tmp_path}/a$$b/nova.sqlite\n"
    cloud = from_nova_conf(written(tmp_path, f"{text}[placement]\nauth_type = none\n"))
    with pytest.raises(Exception, match="no such table: cell_mappings"):
        cloud.nova.cells()


@pytest.mark.parametrize("option", ["endpoint", "endpoint_override"])
def test_without_authentication_the_endpoint_is_the_one_given(tmp_path, option):
    asked: list[Request] = []
    with answering(placement_at("/placement"), asked) as url:
        cloud = connected(tmp_path, auth_type="none", **{option: f"{url}/placement"})
        requests = asked_of(cloud, asked)
    assert {request.headers.get("HTTP_X_AUTH_TOKEN") for request in requests} <= {None, "notused"}


def test_an_admin_token_is_sent(tmp_path):
    asked: list[Request] = []
    with answering(placement_at(), asked) as url:
        cloud = connected(tmp_path, auth_type="admin_token", endpoint=url, token="t0ken")
        [*_, last] = asked_of(cloud, asked)
    assert last.headers["HTTP_X_AUTH_TOKEN"] == "t0ken"
    assert last.headers["HTTP_OPENSTACK_API_VERSION"] == "placement 1.38"


def catalog(placement_url: str) -> list[dict]:
    """One service in two regions, each with three interfaces; only one path answers."""
    endpoints = [
        {
            "id": f"{region}-{interface}",
            "interface": interface,
            "region": region,
            "region_id": region,
            "url": f"{placement_url}/{region}/{interface}",
        }
        for region in ("RegionOne", "RegionTwo")
        for interface in ("public", "internal", "admin")
    ]
    return [{"type": "placement", "name": "placement", "id": "s", "endpoints": endpoints}]


def keystone(placement_url: str) -> dict[str, Reply]:
    token = {
        "methods": ["password"],
        "expires_at": "2100-01-01T00:00:00.000000Z",
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "user": {"id": "u", "name": "nova", "domain": {"id": "default", "name": "Default"}},
        "project": {"id": "p", "name": "service", "domain": {"id": "default", "name": "Default"}},
        "roles": [{"id": "r", "name": "admin"}],
        "catalog": catalog(placement_url),
    }
    created = Reply(201, {"token": token}, {"X-Subject-Token": "t0ken"})
    return {"POST /v3/auth/tokens": created}


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, "/RegionTwo/internal"),
        ({"region_name": "RegionOne"}, "/RegionOne/internal"),
        ({"valid_interfaces": "public"}, "/RegionTwo/public"),
        ({"valid_interfaces": "admin,public"}, "/RegionTwo/admin"),
        ({"endpoint_override": "{url}/elsewhere"}, "/elsewhere"),
    ],
    ids=range(5),
)
def test_a_password_is_taken_to_keystone_and_the_catalog_is_followed(tmp_path, options, path):
    asked: list[Request] = []
    with answering(placement_at(path), asked) as url, answering(keystone(url), asked) as auth_url:
        given = PASSWORD | {name: value.format(url=url) for name, value in options.items()}
        cloud = connected(tmp_path, auth_url=f"{auth_url}/v3", **given)
        [*_, last] = asked_of(cloud, asked)
    [login, *_] = [request for request in asked if request.line == "POST /v3/auth/tokens"]
    assert login.body["auth"]["identity"]["password"]["user"] == {
        "name": "nova", "password": "s3cret", "domain": {"name": "Default"}
    }  # fmt: skip
    assert login.body["auth"]["scope"]["project"] == {
        "name": "service", "domain": {"name": "Default"}
    }  # fmt: skip
    assert last.line == f"GET {path}/resource_providers/p"
    assert last.headers["HTTP_X_AUTH_TOKEN"] == "t0ken"


@pytest.fixture
def clouds_yaml(tmp_path, monkeypatch) -> Path:
    """The only clouds.yaml there is, for a test to write."""
    path = tmp_path / "clouds.yaml"
    path.write_text('{"clouds": {}}')
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    monkeypatch.delenv("OS_CLOUD", raising=False)
    return path


def test_a_cloud_of_clouds_yaml_is_followed(clouds_yaml):
    asked: list[Request] = []
    path = "/RegionTwo/public"
    with answering(placement_at(path), asked) as url, answering(keystone(url), asked) as auth_url:
        names = ("username", "user_domain_name", "password", "project_name", "project_domain_name")
        auth = {name: PASSWORD[name] for name in names} | {"auth_url": f"{auth_url}/v3"}
        mine = {"auth": auth, "region_name": "RegionTwo"}
        clouds_yaml.write_text(json.dumps({"clouds": {"mine": mine}}))
        [*_, last] = asked_of(from_names("sqlite:///none.sqlite", "mine"), asked)
    assert last.line == f"GET {path}/resource_providers/p"


def test_the_environment_is_followed(clouds_yaml, monkeypatch):
    asked: list[Request] = []
    path = "/RegionTwo/internal"
    with answering(placement_at(path), asked) as url, answering(keystone(url), asked) as auth_url:
        for name, value in PASSWORD.items():
            monkeypatch.setenv(f"OS_{name.upper()}", value)
        monkeypatch.setenv("OS_AUTH_URL", f"{auth_url}/v3")
        monkeypatch.setenv("OS_INTERFACE", "internal")
        [*_, last] = asked_of(from_names("sqlite:///none.sqlite", None), asked)
    assert last.line == f"GET {path}/resource_providers/p"


def test_a_cloud_that_no_clouds_yaml_has_is_refused_by_name(clouds_yaml):
    with pytest.raises(LoginUnusable) as refused:
        from_names("sqlite:///none.sqlite", "nosuch")
    assert refused.value.login == "cloud 'nosuch' of clouds.yaml"
    assert "nosuch" in refused.value.reason


def test_an_environment_without_a_cloud_is_refused(clouds_yaml):
    with pytest.raises(LoginUnusable) as refused:
        from_names("sqlite:///none.sqlite", None)
    assert refused.value.login == "OS_* environment"


def test_neutron_is_asked_where_nova_conf_has_credentials_for_it(tmp_path):
    neutron = "[neutron]\nauth_type = none\nendpoint_override = http://network.example\n"
    without = from_nova_conf(written(tmp_path, API + PLACEMENT))
    assert without.neutron is None
    cloud = from_nova_conf(written(tmp_path, API + PLACEMENT + neutron))
    assert cloud.neutron.offered()


def test_the_database_of_a_placement_conf(tmp_path):
    path = written(tmp_path, "[placement_database]\nconnection = sqlite:///p.sqlite\n")
    assert placement_database(path) == "sqlite:///p.sqlite"
    with pytest.raises(SettingMissing) as missing:
        placement_database(written(tmp_path, ""))
    assert (missing.value.section, missing.value.option) == ("placement_database", "connection")
    assert missing.value.project == "placement"


def test_placements_database_stands_beside_its_api(tmp_path):
    placement = "[placement]\nauth_type = none\nendpoint = http://placement.example\n"
    path = written(tmp_path, API + placement)
    with pytest.raises(DatabaseUnusable):
        from_nova_conf(path, Databases(placement_url="no url"))
    from_nova_conf(path, Databases(placement_url="sqlite:///p.sqlite")).close()


def test_without_a_database_nova_is_asked_over_its_api(clouds_yaml):
    mine = {"auth_type": "admin_token", "auth": {"endpoint": "http://p.example", "token": "t"}}
    clouds_yaml.write_text(json.dumps({"clouds": {"mine": mine}}))
    cloud = from_names(None, "mine")
    assert (cloud.nova.read_via, cloud.neutron) == ("API", None)
