# SPDX-License-Identifier: Apache-2.0
"""A small ledger whose operator gives a host the name of a script."""

from contextlib import closing
from pathlib import Path

from tests.clouds import damage
from tests.placement.client import UUID, Client, claim
from trueup.placement.app import make_app
from trueup.placement.store import schema

HOSTILE = "<script>window.harmed = true</script>"
HOST, CHILD, FULL = 1, 2, 3
ROWLESS = UUID(103)
"""Holds something, and its row is gone."""


def write(folder: Path) -> str:
    """Three providers, three consumers; returns the URL of the database."""
    url = f"sqlite:///{folder / 'placement.sqlite'}"
    schema.create(url)
    with closing(make_app(url, {"api": {"auth_strategy": "noauth2"}})) as application:
        client = Client(application)
        client.make_provider(
            HOST, inventories={"VCPU": 8}, traits=("HW_CPU_X86_AVX2",), aggregates=(50,)
        )
        client.make_provider(CHILD, HOST, inventories={"VGPU": 2})
        client.make_provider(FULL, inventories={"VCPU": 4})
        renamed = {"name": HOSTILE}
        assert client.put(f"/resource_providers/{UUID(HOST)}", renamed).status == 200
        assert client.claim(101, {HOST: {"VCPU": 2}, CHILD: {"VGPU": 1}}).status == 204
        hostile = {**claim({HOST: {"VCPU": 1}}), "project_id": HOSTILE}
        assert client.put(f"/allocations/{UUID(102)}", hostile).status == 204
        assert client.claim(103, {FULL: {"VCPU": 4}}).status == 204
    damage.execute(url, f"DELETE FROM consumers WHERE uuid = '{ROWLESS}'")
    damage.execute(url, "UPDATE inventories SET total = 3 WHERE total = 4")
    return url
