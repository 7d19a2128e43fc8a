# SPDX-License-Identifier: Apache-2.0
"""A Placement service for each test that wants one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.placement.client import Client
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


@pytest.fixture
def empty_ledger(tmp_path: Any) -> str:
    """The URL of an SQLite database with tables and standard names."""
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    schema.create(url)
    return url


@pytest.fixture
def client(serve: Callable[..., Client], empty_ledger: str) -> Client:
    """A client of a service without any providers."""
    return serve(empty_ledger)
