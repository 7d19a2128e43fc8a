# SPDX-License-Identifier: Apache-2.0
"""One process of Nova's, and one small cloud, for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.cli.nova_manage.neutron import NeutronOfNova
from tests.cli.nova_manage.twins import Nova, Twins, nova_process
from tests.servers.placement import placement_server
from trueup.lab.cloud import small_cloud
from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve

_NEUTRON = """
[neutron]
auth_type = admin_token
endpoint = {url}
endpoint_override = {url}
token = admin
"""


@pytest.fixture(scope="session")
def nova() -> Iterator[Nova]:
    with nova_process() as process:
        yield process


@pytest.fixture(scope="session")
def twins(nova: Nova, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    folder = tmp_path_factory.mktemp("twins")
    neutron = NeutronOfNova({})
    with (
        small_cloud(folder / "cloud", hosts=12, instances=24) as cloud,
        serve(neutron.application) as url,
    ):
        conf = cloud.nova_conf
        conf.write_text(conf.read_text() + _NEUTRON.format(url=url))
        yield Twins(cloud, nova, neutron)


@pytest.fixture(scope="session")
def twins_on_upstream(nova: Nova, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """As `twins`, with upstream's Placement over the same database."""
    folder = tmp_path_factory.mktemp("twins-on-upstream")
    neutron = NeutronOfNova({})
    with (
        small_cloud(folder / "cloud", hosts=12, instances=24) as cloud,
        serve(neutron.application) as url,
        placement_server("upstream", sqlite_url(cloud.folder / "placement.sqlite")) as upstream,
    ):
        conf = cloud.nova_conf
        text = conf.read_text().replace(cloud.placement_url, upstream.url)
        conf.write_text(text + _NEUTRON.format(url=url))
        yield Twins(cloud, nova, neutron)


@pytest.fixture(autouse=True)
def undamaged(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test the cloud is as it was."""
    yield
    for name in {"twins", "twins_on_upstream"} & {*request.fixturenames}:
        mend(request.getfixturevalue(name))


def mend(twins: Twins) -> None:
    """Let the cloud be as it was."""
    twins.neutron.ports.clear()
    twins.neutron.refusing.clear()
    twins.neutron.once_only.clear()
    twins.neutron.busy.clear()
    twins.neutron.silent = False
    twins.neutron.refusal = "409 Conflict"
    for instance in twins.actives():
        twins.hold(instance, twins.right(instance))
        twins.change(
            instance,
            deleted=0,
            deleted_at=None,
            task_state=None,
            node=instance.host.node,
            host=instance.host.name,
        )
