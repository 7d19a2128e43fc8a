# SPDX-License-Identifier: Apache-2.0
"""A Placement service for each test that wants one."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.placement.client import Client
from tests.servers.fixtures import emptied_database
from tests.servers.sources import KINDS, MYSQLCLIENT
from trueup.placement.app import make_app
from trueup.placement.store import schema

TRUSTING = {"api": {"auth_strategy": "noauth2"}}


@pytest.fixture
def serve() -> Iterator[Callable[..., Client]]:
    """`serve(database_url, placement={...})` is a client of a new service with these options."""
    with ExitStack() as closed_at_the_end:

        def start(database_url: str, **settings: dict[str, Any]) -> Client:
            application = make_app(database_url, {**TRUSTING, **settings})
            return Client(closed_at_the_end.enter_context(closing(application)))

        yield start


@pytest.fixture(scope="session")
def ledger_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Making the tables and 400 names takes longer than most tests; a copy does not."""
    path = tmp_path_factory.mktemp("ledger") / "template.sqlite"
    schema.create(f"sqlite:///{path}")
    return path


@pytest.fixture
def empty_ledger(ledger_template: Path, tmp_path: Path) -> str:
    """The URL of an SQLite database with tables and standard names."""
    path = shutil.copy(ledger_template, tmp_path / "placement.sqlite")
    return f"sqlite:///{path}"


@pytest.fixture(params=(*KINDS, MYSQLCLIENT))
def ledger_url(request: pytest.FixtureRequest) -> str:
    """An empty ledger on each kind of database; on a server it is reused."""
    if request.param == "sqlite":
        return request.getfixturevalue("empty_ledger")
    return emptied_database(request, request.param)


@pytest.fixture
def client(serve: Callable[..., Client], empty_ledger: str) -> Client:
    """A client of a service without any providers."""
    return serve(empty_ledger)
