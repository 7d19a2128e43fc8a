# SPDX-License-Identifier: Apache-2.0
"""Nova runs on while a release of upstream's Placement is swapped for ours, and back.

The release makes the tables by its own command. An instance waits for the confirmation of its
resize while the swap happens, so that two consumers hold its resources.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.cleaning import clean
from tests.real.cloud.damage import lose_the_ledger
from tests.real.cloud.discrepancies import discrepancies, settled
from tests.real.cloud.openstack import Cloud, running_cloud
from tests.real.cloud.placement import Release
from tests.real.cloud.processes import run
from tests.real.cloud.site import CELL_OF_COMPUTE
from tests.real.cloud.tenant import Tenant
from tests.real.cloud.trueup import Trueup, nothing_is_left_to_repair
from tests.releases.environments import RELEASES, SERVICE, environment_of

OWN = "compute1"
# Nova 34 claims with microversion 1.36.
OLD_ENOUGH = [version for version, (_, api, _) in RELEASES.items() if api >= "1.36"]
# Newer than some of these releases, and stricter than them.
POLICY = "\n[oslo_policy]\nenforce_scope = false\nenforce_new_defaults = false\n"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(tmp_path_factory.mktemp("cloud"), "upstream") as running:
        yield running


@pytest.mark.parametrize("version", OLD_ENOUGH)
def test_nova_runs_on(version: str, cloud: Cloud, tmp_path: Path) -> None:
    begin_with(cloud, version, tmp_path)
    tenant, placement = Tenant(cloud.connection), cloud.placement
    stays, moves = tenant.boot(TINY, OWN), tenant.boot(TINY, OWN)
    waits = tenant.resize(tenant.boot(TINY, OWN), SMALL)
    ledger_is_true(cloud)
    placement.swap_to("trueup")
    ledger_is_true(cloud)
    tenant.confirm(waits)
    waits = tenant.resize(moves, SMALL)
    tenant.delete(stays)
    ledger_is_true(cloud)
    placement.swap_to("upstream")
    ledger_is_true(cloud)
    tenant.confirm(waits)
    tenant.boot(SMALL)
    placement.swap_to("trueup")
    ledger_is_true(cloud)
    assert clean(cloud) == []


def begin_with(cloud: Cloud, version: str, folder: Path) -> None:
    """This release serves an empty ledger, which it has made, and nova-compute fills it."""
    programs = environment_of(version) / "bin"
    conf = folder / "placement.conf"
    conf.write_text(cloud.site.configuration("placement", "placement.conf").read_text() + POLICY)
    cloud.placement.stop()
    lose_the_ledger(cloud)
    cloud.placement.release = Release(
        lambda port: (programs / "python", SERVICE, port), {"OS_PLACEMENT_CONFIG_DIR": str(folder)}
    )
    manage = (programs / "placement-manage", "--config-file", conf, "db", "sync")
    run(manage, cloud.site.client_environment)
    cloud.placement.start("upstream")
    cloud.restart_computes(*CELL_OF_COMPUTE)


def ledger_is_true(cloud: Cloud) -> None:
    """Plain SQL, Trueup and Nova's own commands agree."""
    assert list(settled(discrepancies(cloud))) == []
    assert nothing_is_left_to_repair(cloud.site, Trueup(cloud.site))
