# SPDX-License-Identifier: Apache-2.0
import json
from urllib.request import Request, urlopen

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from tests.lab.reading import held, whole_file
from tests.servers.upstream import NOAUTH, create_tables, make_app
from trueup.lab import Drift, small_cloud


def test_the_same_seed_and_moment_give_the_same_rows(healthy, make_cloud):
    with make_cloud() as twin:
        assert twin.blueprint == healthy.blueprint
        assert held(twin) == held(healthy)
        for name in ("nova_api", "nova_cell0", "nova_cell1", "nova_cell2"):
            files = [
                [line.replace(str(cloud.folder), "") for line in whole_file(path)]
                for cloud in (healthy, twin)
                for path in [cloud.folder / f"{name}.sqlite"]
            ]
            assert files[0] == files[1]


def test_placement_answers_at_the_url_of_the_cloud(healthy):
    request = Request(
        f"{healthy.placement_url}/resource_providers", headers={"X-Auth-Token": "admin"}
    )
    with urlopen(request, timeout=10) as answer:
        listed = json.load(answer)["resource_providers"]
    assert len(listed) == len(healthy.blueprint.hosts)


def test_keystoneauth_reaches_placement_with_the_generated_nova_conf(healthy):
    settings = cfg.ConfigOpts()
    loading.register_session_conf_options(settings, "placement")
    loading.register_auth_conf_options(settings, "placement")
    settings.register_opts([cfg.StrOpt("connection")], "api_database")
    settings(["--config-file", str(healthy.nova_conf)])
    auth = loading.load_auth_from_conf_options(settings, "placement")
    session = loading.load_session_from_conf_options(settings, "placement", auth=auth)
    answer = session.get("/resource_providers", endpoint_filter={"service_type": "placement"})
    assert len(answer.json()["resource_providers"]) == len(healthy.blueprint.hosts)
    assert settings.api_database.connection == healthy.databases.api_url


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(FileExistsError), small_cloud(tmp_path, hosts=4, instances=20):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def upstreams(database_url: str):
    create_tables(database_url)
    return make_app(database_url, NOAUTH)


def test_the_cloud_also_works_with_upstreams_placement(make_cloud):
    with make_cloud(hosts=4, instances=20, placement=upstreams) as cloud:
        planted = cloud.plant(Drift(1, 1, 1, 1, failed=0))
        assert len(planted) == 4
        missing = planted[2].consumer_uuid
        assert held(cloud).keys() == {claim.consumer_uuid for claim in cloud.blueprint.claims()} - {
            missing
        }
