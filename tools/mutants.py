# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the code that decides: each small change of it must make a test fail.

`python tools/mutants.py [--jobs N] [--only TEXT] [FILE ...]` makes one change after the other, in
memory and in a process of its own, and runs the fast tests of the decision code there. A change
with which they all pass is printed: a survivor. Exit codes: 0 none survived, 1 some survived, 2 the
tests fail without any change.

It is our own because a general tool starts Python anew for each change, which takes longer than the
tests do; and because it leaves out what is only text, such as evidence and titles.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
FILES = ("src/trueup/reconcile/rules/residence.py", "src/trueup/reconcile/defects/*.py")
TESTS = (
    "tests/scenarios",
    "tests/reconcile/rules/test_residence.py",
    "tests/reconcile/defects",
    "tests/properties/test_reconcile_invariants.py",
    "tests/simulator/test_simulated_clouds.py",
)
SCENARIOS = "tests/scenarios/test_audits.py::test_audit_and_plan_are_those_in_the_file"
# PERF: imported once, before processes are forked.
PREPARED = ("pytest", "hypothesis", "openstack", "rich", "anyio.pytest_plugin", "trueup.lab")
# Of what is generated, few are enough to notice most changes.
HISTORIES = "60"
# Of processor time: on a busy machine the tests take long, and are no endless loop.
SECONDS_MAX = 300

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the nodes in the order of `ast.walk`, of which one is replaced."""

    path: Path
    number: int
    replacement: ast.AST
    line: int
    before: str
    after: str

    @property
    def module(self) -> str:
        parts = self.path.relative_to(ROOT / "src").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"

    def tree(self) -> ast.Module:
        """The file with the change in it."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        target = list(ast.walk(tree))[self.number]
        changed = ast.copy_location(copy.deepcopy(self.replacement), target)
        tree = _Replace(target, changed).visit(tree)
        return ast.fix_missing_locations(tree)


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self._replacement if node is self._target else self.generic_visit(node)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of this file that is made."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {id(part) for node in ast.walk(tree) for part in _words(node)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in words:
            continue
        for replacement in _changes(node):
            line = getattr(getattr(node, "target", node), "lineno", 0)
            yield Mutant(path, number, replacement, line, *map(_short, (node, replacement)))


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _words(node: ast.AST) -> Iterator[ast.AST]:
    """What is only said: formatted texts, annotations, imports, names and titles of a defect."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        yield from ast.walk(node)
    elif isinstance(node, ast.AnnAssign):
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.FunctionDef):
        arguments = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
        for part in (node.returns, *(one.annotation for one in arguments)):
            yield from ast.walk(part) if part else ()
    elif isinstance(node, ast.ClassDef):
        # What a decorator or an option makes of a class is no decision; a protocol runs nothing.
        said = (*node.decorator_list, *node.keywords, *(node.body if _is_protocol(node) else ()))
        for part in said:
            yield from ast.walk(part)


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "Protocol" for one in node.bases)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What a node becomes, one after the other."""
    if isinstance(node, ast.expr):
        yield from _changes_of_operators(node)
        yield from _changes_of_values(node)
    else:
        yield from _changes_of_statements(node)


def _changes_of_operators(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[one]) if type(one) in _COMPARISONS:
            yield _with(node, ops=[_COMPARISONS[type(one)]()])
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield _with(node, test=_negated(node.test))
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield _with(node, op=_OPERATORS[type(node.op)]())


def _changes_of_values(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Set() | ast.Tuple() if _is_of_texts(node):
            for left_out in node.elts:
                kept = [one for one in node.elts if one is not left_out]
                yield _with(node, elts=kept) if kept else ast.Tuple([], ast.Load())
        case ast.Dict() if all(map(_is_text, (*node.keys, *node.values))) and len(node.keys) > 1:
            yield from _shorter(node)


def _changes_of_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield _with(node, test=_negated(node.test))
        case ast.comprehension() if node.ifs:
            yield _with(node, ifs=[])
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            # It stays a generator: nothing is yielded.
            yield ast.Expr(ast.YieldFrom(ast.Tuple([], ast.Load())))
        case ast.Return(value=None) | ast.Continue():
            yield ast.Pass()


def _shorter(node: ast.Dict) -> Iterator[ast.AST]:
    """Without one entry, of a table of states."""
    for left_out in range(len(node.keys)):
        kept = [number for number in range(len(node.keys)) if number != left_out]
        yield _with(
            node,
            keys=[node.keys[number] for number in kept],
            values=[node.values[number] for number in kept],
        )


def _is_of_texts(node: ast.Set | ast.Tuple) -> bool:
    return bool(node.elts) and all(map(_is_text, node.elts))


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module as it is changed."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        file = self._mutant.path
        folders = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, file, loader=self, submodule_search_locations=folders
        )

    def exec_module(self, module: ModuleType) -> None:
        code = compile(self._mutant.tree(), str(self._mutant.path), "exec")
        exec(code, module.__dict__)


def is_noticed(mutant: Mutant | None) -> bool:
    """Whether the tests fail, in this process; it can do nothing else afterwards.

    Without a mutant, the tests say on standard error what they do.
    """
    import pytest

    if mutant:
        sys.meta_path.insert(0, _Mutated(mutant))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 2)
    os.dup2(2, 1)
    os.environ["TRUEUP_HISTORIES"] = HISTORIES
    there = [test for test in TESTS if (ROOT / test).exists()]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    # PERF: most changes are noticed by the tests of their own file.
    near = _nearest(mutant.path) if mutant else []
    return any(pytest.main([*options, *some]) for some in (near, there) if some)


def _nearest(path: Path) -> list[str]:
    """The tests beside this file, and the scenarios of its defect."""
    folder = path.relative_to(ROOT / "src/trueup").parent
    beside = ROOT / "tests" / folder / f"test_{path.stem}.py"
    audits = ROOT / "tests/scenarios/audits" / f"{path.stem.replace('_', '-')}.txt"
    return [
        *([str(beside)] if beside.exists() else ()),
        *([f"{SCENARIOS}[{audits.stem}]"] if audits.exists() else ()),
    ]


def _forget_the_package() -> None:
    """SAFETY: otherwise the tests would use what was imported before it was changed."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "trueup"]:
        del sys.modules[name]


def _begun(mutant: Mutant | None) -> int:
    """The id of a process that ends with 1 if the change was noticed."""
    child = os.fork()
    if child == 0:
        # A change can make a loop endless: the signal ends the process, which counts as noticed.
        signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
        os._exit(int(is_noticed(mutant)))
    return child


def survivors(mutants: Sequence[Mutant], jobs: int) -> Iterator[Mutant]:
    """Try each change, some at a time."""
    running: dict[int, Mutant] = {}
    waiting, began = list(mutants), time.monotonic()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            running[_begun(mutant)] = mutant
        child, status = os.wait()
        mutant = running.pop(child)
        done = len(mutants) - len(waiting) - len(running)
        sys.stderr.write(f"\r{done}/{len(mutants)}, {time.monotonic() - began:.0f} s ")
        if status == 0:
            yield mutant


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="changes whose line holds this text")
    parser.add_argument("files", nargs="*", help=f"instead of {' '.join(FILES)}")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    for name in PREPARED:
        importlib.import_module(name)
    found = [path for name in arguments.files or FILES for path in sorted(ROOT.glob(name))]
    mutants = [one for path in found for one in mutants_of(path) if arguments.only in str(one)]
    if any(one.module in sys.modules for one in mutants):
        _forget_the_package()
    if code := os.waitstatus_to_exitcode(os.waitpid(_begun(None), 0)[1]):
        too_long = f", as they take more than {SECONDS_MAX} s of processor time"
        why = too_long if code == -signal.SIGPROF else ""
        sys.stderr.write(f"The tests fail without any change{why}.\n")
        return 2
    left = 0
    for mutant in survivors(mutants, arguments.jobs):
        left += 1
        sys.stdout.write(f"\r{mutant}\n")
        sys.stdout.flush()
    sys.stderr.write("\n")
    sys.stdout.write(f"{len(mutants)} changes, {len(mutants) - left} noticed, {left} survived.\n")
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
