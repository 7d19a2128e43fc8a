# SPDX-License-Identifier: Apache-2.0
import http.client
import json
from contextlib import closing

import pytest

from tests.servers.placement import placement_server
from tests.servers.processes import free_port
from trueup.placement.store import schema
from trueup.shadow.mirror import mirror
from trueup.shadow.reads import Read

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.20"}


def asked(address, method, path, body=None, headers=HEADERS):
    with closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        more = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**headers, **more})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


@pytest.fixture(scope="module")
def upstream(fresh_module_database):
    with placement_server("upstream", fresh_module_database) as server:
        yield server.url


@pytest.fixture(scope="module")
def fresh_module_database(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('mirror') / 'placement.sqlite'}"
    schema.create(url)
    return url


def test_everything_is_passed_on_and_reads_are_noted(upstream):
    noted = []
    host, _, port = upstream.removeprefix("http://").partition(":")
    direct = (host, int(port))
    with mirror(("127.0.0.1", 0), upstream, noted.append) as address:
        made = asked(address, "POST", "/resource_providers", json.dumps({"name": "one"}))
        assert made[0] == 200
        for path in ("/resource_providers", "/traits?name=in:HW_CPU_X86_AVX", "/nowhere"):
            there, here = (asked(to, "GET", path) for to in (direct, address))
            assert here[0] == there[0]
            assert here[0] == 404 or here[1] == there[1]
            assert here[2]["openstack-api-version"] == "placement 1.20"
        uuid = json.loads(made[1])["uuid"]
        assert asked(address, "DELETE", f"/resource_providers/{uuid}")[0] == 204
        assert asked(address, "GET", f"/resource_providers/{uuid}")[0] == 404
        assert asked(address, "GET", "/traits", headers={})[0] == 401
    assert noted == [
        Read("/resource_providers", "1.20"),
        Read("/traits?name=in:HW_CPU_X86_AVX", "1.20"),
        Read(f"/resource_providers/{uuid}", "1.20"),
        Read("/traits", None),
    ]


def test_without_an_upstream_clients_get_an_answer():
    noted = []
    with mirror(("127.0.0.1", 0), f"http://127.0.0.1:{free_port()}", noted.append) as address:
        assert asked(address, "GET", "/traits")[0] == 502
    assert noted == []
