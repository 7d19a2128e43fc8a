# SPDX-License-Identifier: Apache-2.0
"""The functions with which the house rules measure code."""

import ast
from dataclasses import dataclass

import pytest

from tests import tree

DEEP = '''
def deep(rows, *more, limit=1, **rest):
    """One line,
    and another.
    """
    with open("x") as file:
        for row in rows:
            if row:
                return [one for one in row if one]
            elif more:
                pass
            else:
                while True:
                    break

    def inner():
        if rows:
            if more:
                if rest:
                    if limit:
                        if file:
                            pass
'''


@dataclass(frozen=True)
class Written(tree.Source):
    """A file that is nowhere but here."""

    content: str = ""

    @property
    def text(self) -> str:
        return self.content

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.content)


def written(content: str) -> Written:
    return Written("src/trueup/somewhere.py", content)


def test_a_function_is_measured_without_its_docstring_and_without_inner_functions():
    outer, inner = written(DEEP).functions()
    assert tree.lines_of(outer) == 18
    assert [one.arg for one in tree.arguments_of(outer)] == ["rows", "limit", "more", "rest"]
    assert (tree.depth_of(outer), tree.depth_of(inner)) == (4, 5)


@pytest.mark.parametrize(
    ("body", "depth"),
    [
        ("pass", 0),
        ("if x:\n  pass\n elif y:\n  pass\n elif z:\n  pass\n else:\n  pass", 1),
        ("try:\n  pass\n except ValueError:\n  if x:\n   pass", 2),
        ("match x:\n  case 1:\n   for y in x:\n    pass", 2),
        ("return [y for y in x if y for z in y if z]", 0),
    ],
)
def test_depth_of_nested_blocks(body, depth):
    [function] = written(f"def function(x, y, z):\n {body}").functions()
    assert tree.depth_of(function) == depth


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plan_file", ("plan", "file")),
        ("PlanUnreadable", ("plan", "unreadable")),
        ("HTTPServer", ("http", "server")),
        ("EXIT_CODES", ("exit", "codes")),
        ("_database2", ("database",)),
    ],
)
def test_words_of_a_name(name, words):
    assert tree.words_of(name) == words


def test_names_that_a_file_defines():
    source = written(
        "import os as system\nclass One:\n def two(self, three):\n"
        "  self.four = five = 6\n  self.four.seven = [eight for eight in three]\n"
    )
    assert {name for _, name in tree.names_given(source)} == {
        "system", "One", "two", "self", "three", "four", "five", "eight"
    }  # fmt: skip


def test_generated_and_foreign_files_are_not_ours():
    names = {path.as_posix() for path in tree.files()}
    assert {"Makefile", "pyproject.toml", "src/trueup/__init__.py", ".ci/run"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv/")]


def test_what_git_ignores_is_not_ours(monkeypatch, tmp_path):
    """Else the suite would fail after `make coverage`, which leaves a file."""
    for name in (tree.REPOSITORY / ".gitignore").read_text().split():
        path = tmp_path / name.replace("*", "any")
        if name.endswith("/"):
            path.mkdir(parents=True)
            path /= "file"
        path.write_text("")
    (tmp_path / "ours.py").write_text("")
    monkeypatch.setattr(tree, "REPOSITORY", tmp_path)
    assert [path.as_posix() for path in tree.files()] == ["ours.py"]
