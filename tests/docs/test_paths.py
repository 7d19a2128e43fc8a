# SPDX-License-Identifier: Apache-2.0
"""Every file, folder and test that a page names exists."""

import re
from pathlib import Path

import pytest

from tests import tree
from tests.tree import REPOSITORY

PAGES = [
    name
    for name in tree.files()
    if name.suffix == ".md" and name.parts[0] not in ("tests", "changelog.d", "CHANGELOG.md")
]
PACKAGE = REPOSITORY / "src/trueup"
# A page may name a module by its path from here, with or without `.py`.
ROOTS = (REPOSITORY, PACKAGE, PACKAGE / "reconcile", PACKAGE / "placement")
FOLDERS = {
    (REPOSITORY / name).relative_to(root).parts[0]
    for name in tree.files()
    for root in ROOTS
    if (REPOSITORY / name).parent.is_relative_to(root) and (REPOSITORY / name).parent != root
}
# The files of the defect that the recipe in CONTRIBUTING.md makes.
EXAMPLE = re.compile(r"stale[-_]thing")


def named_in(text: str) -> list[str]:
    """The paths in backticks whose first part is a folder of ours."""
    quoted = re.findall(r"`([\w.-]+(?:/[\w.-]*)+)`", text)
    return [name for name in quoted if name.split("/")[0] in FOLDERS and not EXAMPLE.search(name)]


def is_there(name: str, page: Path) -> bool:
    roots = (*ROOTS, (REPOSITORY / page).parent)
    return any((root / name).exists() or (root / f"{name}.py").exists() for root in roots)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_path_that_a_page_names_exists(page):
    names = named_in((REPOSITORY / page).read_text())
    assert not [name for name in names if not is_there(name, page)]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_relative_link_of_a_page_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (REPOSITORY / page).read_text())
    folder = (REPOSITORY / page).parent
    assert not [link for link in links if not (folder / link).exists()]


@pytest.mark.xdist_group(tree.GROUP)
@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_test_that_a_page_names_exists(page):
    files = [source for source in tree.sources("tests") if "/test_" in source.name]
    known = " ".join(name for source in files for name in names_in(source))
    # `test_invariant_7_…` stands for all tests whose names begin so.
    names = re.findall(r"`(test_\w+)(_…)?`", (REPOSITORY / page).read_text())
    assert names
    assert not [
        name for name, more in names if f" {name}{'_' if more else ' '}" not in f" {known} "
    ]


def names_in(source: tree.Source) -> list[str]:
    """The names of a file's tests, and of the file itself."""
    return [Path(source.name).stem, *re.findall(r"^def (test_\w+)", source.text, re.MULTILINE)]
