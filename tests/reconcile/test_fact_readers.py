# SPDX-License-Identifier: Apache-2.0
"""Every field of the facts has a reader.

A reader is code outside of what gathers facts, keeps them or renames them. Fields are known by
their names only: a name that two kinds of facts share counts as read for both.
"""

import ast
from collections.abc import Iterable
from dataclasses import fields, is_dataclass

import pytest

from tests import tree
from tests.test_house_rules import is_within, keep
from trueup.reconcile import facts as kinds

pytestmark = pytest.mark.xdist_group(tree.GROUP)

FACTS = "trueup.reconcile.facts"
GATHERING = (
    FACTS,
    "trueup.reconcile.sources",
    "trueup.reconcile.collect",
    "trueup.reconcile.copies.snapshot",
    "trueup.reconcile.copies.anonymize",
)
READERS = tuple(
    one
    for one in tree.sources("src")
    if is_within(one.module, ("trueup.reconcile", "trueup.capacity", "trueup.cli"))
    and not is_within(one.module, GATHERING)
)


def names_loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """Every attribute that is read somewhere below these nodes."""
    return {
        one.attr
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
    }


def names_read() -> set[str]:
    """The attributes that readers read, also by way of a property or method of the facts."""
    functions = [
        function
        for one in tree.sources("src")
        if is_within(one.module, (FACTS,))
        for function in one.functions()
    ]
    read: set[str] = set()
    more = names_loaded(one.tree for one in READERS)
    while more - read:
        read |= more
        more = names_loaded(one for one in functions if one.name in read)
    return read


def fields_of_facts() -> dict[str, str]:
    """The name of each field, by the kind and name."""
    known = vars(kinds).values()
    return {
        f"{kind.__name__}.{name}": name
        for kind in known
        if isinstance(kind, type)
        for name in names_of_fields(kind)
    }


def names_of_fields(kind: type) -> Iterable[str]:
    """The fields of a dataclass or a struct; other types have none."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return getattr(kind, "__struct_fields__", ())


def test_every_field_of_the_facts_has_a_reader():
    read = names_read()
    keep(
        (field for field, name in fields_of_facts().items() if name not in read),
        "read it, or stop collecting it",
    )
