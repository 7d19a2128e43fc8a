# SPDX-License-Identifier: Apache-2.0
"""The glossary is sorted, explains each word once in each table, and names types that exist."""

import re
from itertools import pairwise

import pytest

from tests import tree
from tests.test_house_rules import keep
from tests.tree import REPOSITORY

pytestmark = pytest.mark.xdist_group(tree.GROUP)

ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \|(?P<type>[^|]*)\|$", re.MULTILINE)
PAGE = (REPOSITORY / "docs" / "glossary.md").read_text()
TABLES = [
    [row for row in ROW.finditer(part) if row["word"] not in ("word", "---")]
    for part in PAGE.split("\n## ")[1:]
]


def words(row: re.Match[str]) -> list[str]:
    return row["word"].split(", ")


def test_there_is_a_table_in_each_section():
    assert all(TABLES)


def test_the_words_are_sorted_and_each_is_explained_once():
    for rows in TABLES:
        assert all(one["word"] < next_one["word"] for one, next_one in pairwise(rows))
    every = [word for rows in TABLES for row in rows for word in words(row)]
    assert len(every) == len(set(every))


def test_every_meaning_is_a_sentence():
    keep(
        (
            row["word"]
            for rows in TABLES
            for row in rows
            if not re.fullmatch(r"[A-Z(].*[.]|.*\.\.\.", row["meaning"])
        ),
        "begin with a capital letter, end with a full stop",
    )


def test_every_type_exists():
    """Where a word has a type, the type is a public name of the product."""
    known = {name for source in tree.sources("src") for _, name in tree.names_given(source)}
    named = set(re.findall(r"\| `(\w+)` \|", PAGE))
    assert named
    keep(named - known, "docs/glossary.md names types that are gone: rename them there too")
