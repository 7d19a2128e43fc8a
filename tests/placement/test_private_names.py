# SPDX-License-Identifier: Apache-2.0
"""The private names of libraries that the service uses where there is no public way.

A release without such a name fails this test, and not a request.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pymysql
import pytest
from granian import _signals
from granian.server.mp import MPServer
from sqlalchemy import Connection, QueuePool, create_engine

from tests import tree
from tests.tree import REPOSITORY, Source

NAMES: dict[str, tuple[str, Callable[[], Any]]] = {
    "_handle_dbapi_exception": ("SQLAlchemy", lambda: Connection._handle_dbapi_exception),
    "_max_overflow": (
        "SQLAlchemy",
        lambda: create_engine("sqlite://", poolclass=QueuePool).pool._max_overflow,
    ),
    "_read_timeout": (
        "PyMySQL",
        lambda: pymysql.connections.Connection(defer_connect=True, read_timeout=3)._read_timeout,
    ),
    "_signals": ("granian", lambda: _signals.set_sync_signals),
    "_stop_workers": ("granian", lambda: MPServer._stop_workers),
}
# Documented in spite of their names, or of Python's own library.
PUBLIC = {"_replace", "_value_", "_exit", "_actions"}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_is_there(name: str) -> None:
    assert NAMES[name][1]() is not None


def test_an_error_is_handed_to_sqlalchemy_in_this_order() -> None:
    found = list(inspect.signature(Connection._handle_dbapi_exception).parameters)
    assert found[1:6] == ["e", "statement", "parameters", "cursor", "context"]


def test_the_library_has_an_upper_bound() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    for library in {library for library, _ in NAMES.values()}:
        said = [requirement for requirement in wanted if re.match(rf"{library}\b", requirement)]
        assert said, library
        assert all("<" in requirement for requirement in said), said


def test_no_other_private_name_is_used() -> None:
    sources = [
        source for source in tree.sources("src") if source.module.startswith("trueup.placement")
    ]
    found = {name for source in sources for name in private_names(source)}
    assert found <= NAMES.keys() | PUBLIC
    assert NAMES.keys() <= found


def private_names(source: Source) -> Iterator[str]:
    """Those of other objects than the one whose method it is."""
    for node in ast.walk(ast.parse("\n".join(source.lines))):
        if isinstance(node, ast.ImportFrom):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from (part for part in parts if is_private(part) and node.module != "__future__")
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                yield node.attr


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
