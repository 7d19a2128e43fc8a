# SPDX-License-Identifier: Apache-2.0
"""The repository's own files, read and parsed, for the tests that judge how they are written."""

import ast
import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

# PERF: tests that parse the whole repository run on one worker, so that it is parsed once.
GROUP = "whole repository"
REPOSITORY = Path(__file__).parents[1]
PACKAGE = "trueup"
# What tools leave behind, and folders of data.
_NOT_OURS = re.compile(
    r"\.(git|venv|.*_cache|hypothesis)|__pycache__|build|completions|dist|recordings|.*\.egg-info"
    r"|\.venv\.log|\.coverage"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True)
class Source:
    """One Python file of ours. `name` is relative to the repository, with slashes."""

    name: str

    @cached_property
    def text(self) -> str:
        return (REPOSITORY / self.name).read_text(encoding="utf-8")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        with _without_collection():
            return ast.parse(self.text, self.name)

    @property
    def module(self) -> str:
        """The name it is imported by, as `trueup.reconcile.plan`."""
        parts = list(Path(self.name.removeprefix("src/")).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def at(self, node: ast.stmt | ast.expr | ast.arg) -> str:
        return f"{self.name}:{node.lineno}"

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree. PERF: each rule asks for them, and walking takes a second."""
        with _without_collection():
            return tuple(ast.walk(self.tree))

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    @cached_property
    def imports(self) -> tuple[tuple[ast.Import | ast.ImportFrom, str, str], ...]:
        """Each name that is imported: the statement, the module, and the name in it ("": all)."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[tuple[ast.Import | ast.ImportFrom, str, str]]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                yield from ((node, module, alias.name) for alias in node.names)


@contextmanager
def _without_collection() -> Iterator[None]:
    """PERF: nothing of a tree is garbage, and looking for some takes longer than parsing it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def files(top: str = ".") -> tuple[Path, ...]:
    """Every file of ours below a folder, relative to the repository."""
    found = []
    for folder, folders, names in os.walk(REPOSITORY / top):
        folders[:] = [name for name in folders if not _NOT_OURS.fullmatch(name)]
        found += [Path(folder, name) for name in names if not _NOT_OURS.fullmatch(name)]
    return tuple(sorted(path.relative_to(REPOSITORY) for path in found))


def sources(*tops: str) -> tuple[Source, ...]:
    """Every Python file below these folders."""
    return tuple(
        _source(path.as_posix()) for top in tops for path in files(top) if path.suffix == ".py"
    )


@cache
def _source(name: str) -> Source:
    """PERF: one for each file, so that it is parsed once by all who ask."""
    return Source(name)


def words_of(name: str) -> tuple[str, ...]:
    """`PlanUnreadable`, `plan_file` and `HTTPServer` as words in lower case."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return tuple(word.lower() for word in found)


def lines_of(function: Function) -> int:
    """How many lines a function has from `def` on, its docstring not counted."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def arguments_of(function: Function) -> list[ast.arg]:
    """All arguments, `self` and `cls` too."""
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]


def depth_of(function: Function) -> int:
    """How many blocks stand in one another at the deepest place; `elif` is as deep as its `if`."""
    return max((_depth(child) for child in function.body), default=0)


_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def _depth(node: ast.AST) -> int:
    if isinstance(node, Definition):
        return 0
    inner = max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)
    if not isinstance(node, _BLOCKS):
        return inner
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        own = max((_depth(child) for child in node.body), default=0)
        return max(1 + own, _depth(node.orelse[0]))
    return 1 + inner


def names_given(source: Source) -> Iterator[tuple[int, str]]:
    """Every name that a file defines: classes, functions, arguments, variables, attributes.

    What is set on anything but `self` was named elsewhere.
    """
    for node in source.nodes:
        if isinstance(node, Definition):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and _is_own(node):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def _is_own(node: ast.Attribute) -> bool:
    owner = node.value
    return isinstance(node.ctx, ast.Store) and isinstance(owner, ast.Name) and owner.id == "self"


def public_definitions(source: Source) -> Iterator[tuple[str, Definition]]:
    """Public classes, functions and methods with their qualified names; not what is inside them."""
    for node in source.tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node.name, node
            yield from _public_methods(node)


def _public_methods(node: Definition) -> Iterator[tuple[str, Definition]]:
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, Function) and not method.name.startswith("_"):
                yield f"{node.name}.{method.name}", method


def statements_in(node: ast.AST) -> int:
    """How many statements stand below a node."""
    return sum(isinstance(child, ast.stmt) for child in ast.walk(node)) - 1
