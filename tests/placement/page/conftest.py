# SPDX-License-Identifier: Apache-2.0
"""`site_url` is the address of the pages of a small ledger, which a test must not change."""

from collections.abc import Iterator

import pytest

from tests.placement.page import ledger
from trueup.capacity.in_ledger import fits
from trueup.placement.page.serving import ListenAt, serving


@pytest.fixture(scope="package")
def ledger_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return ledger.write(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="package")
def site_url(ledger_url: str) -> Iterator[str]:
    with serving((), ledger_url, ListenAt("127.0.0.1", 0), fits) as port:
        yield f"http://127.0.0.1:{port}"
