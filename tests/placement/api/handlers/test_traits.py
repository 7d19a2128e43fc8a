# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/traits"


@pytest.mark.parametrize("ledger_url", ["postgresql"], indirect=True)
def test_lists_may_be_very_long(serve: Callable[..., Client], ledger_url: str) -> None:
    """PostgreSQL takes 65,535 values beside a statement; MariaDB has no such limit."""
    client = serve(ledger_url)
    client.make_provider(1, aggregates=(50,))
    many = [f"CUSTOM_{number}" for number in range(2**16)]
    body = {"resource_provider_generation": 1, "traits": many}
    assert client.put(PATH, body).status == 400
    listed = ",".join([*many, "HW_CPU_X86_AVX"])
    assert client.get(f"/traits?name=in:{listed}").json == {"traits": ["HW_CPU_X86_AVX"]}
    assert client.get(f"/resource_providers?required=in:{listed}").status == 400
    uuids = ",".join(UUID(number) for number in range(2**16))
    found = client.get(f"/resource_providers?member_of=in:{uuids}").json["resource_providers"]
    assert [provider["uuid"] for provider in found] == [UUID(1)]
