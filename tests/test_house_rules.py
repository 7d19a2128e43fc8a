# SPDX-License-Identifier: Apache-2.0
"""House rules: how the code is written, kept by tests rather than by reviewers.

Who may import whom is kept by `make lint` (.importlinter). A message says where, and what to do.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests import tree
from tests.doors import DOORS
from tests.tree import REPOSITORY, Source

FILE_LINES_MAX = 600
# A shorter module needs no test file of its own: the tests of its users run it.
MIRRORED_LINES_MIN = 60
FUNCTION_LINES_MAX = 50
ARGUMENTS_MAX = 6
DEPTH_MAX = 3
LINE_LENGTH_MAX = 100
# A public definition of more statements than these says in words what it is for.
STATEMENTS_WITHOUT_DOCSTRING = 5

pytestmark = pytest.mark.xdist_group(tree.GROUP)

PRODUCT = tree.sources("src")
ALL = tree.sources("src", "tests", "tools", "bench")

BANNED_WORDS = frozenset(
    {"util", "utils", "helper", "helpers", "common", "manager", "misc", "base", "data", "info"}
)
# Names, or parts of names, that are somebody else's, each with its reason.
FORCED_NAMES = {
    "info_caches": "Nova's table instance_info_caches",
    "online_data_migrations": "a command of placement-manage",
}
# Written in pieces, so that this file is not found by its own rules.
LEFTOVERS = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")))
MACHINE_WORDS = ("/wo" + "rk/", "pypi" + ".org", "files.python" + "hosted", "deb." + "debian")
SILENCERS = re.compile(r"#\s*(" + "no" + r"qa|ty" + r"pe:\s*ignore)(?P<rest>.*)")
SILENCER_WITH_REASON = re.compile(r"(:\s*[A-Z]\w*(, ?[A-Z]\w*)*|\[[\w, -]+\])\s+(-|#|\()\s*\w+")

# Modules with functions, or folders of them, and yet no test file of their own.
FOLDERS_WITHOUT_MIRROR = {
    "trueup.placement.store.migrations.versions": "run one after the other by test_migrations.py",
}
WITHOUT_MIRROR = {
    "trueup.reconcile.sources.nova.queries": "each run by the tests of cells and registry",
    "trueup.reconcile.sources.nova.tables": "the tables that queries ask",
}


def keep(broken: Iterable[str], what_to_do: str) -> None:
    """Fail with every place where a rule is broken, and what to do about it."""
    places = sorted(set(broken))
    assert not places, f"{what_to_do}:\n  " + "\n  ".join(places)


def is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def text_files() -> Iterator[tuple[str, str]]:
    for path in tree.files():
        content = (REPOSITORY / path).read_bytes()
        if b"\0" not in content:
            yield path.as_posix(), content.decode(errors="replace")


def test_files_are_short():
    keep(
        (f"{one.name}: {len(one.lines)} lines" for one in ALL if len(one.lines) > FILE_LINES_MAX),
        f"a file has at most {FILE_LINES_MAX} lines: split it by concern",
    )


def test_functions_are_short():
    keep(
        (
            f"{one.at(function)} {function.name}: {tree.lines_of(function)} lines"
            for one in ALL
            for function in one.functions()
            if tree.lines_of(function) > FUNCTION_LINES_MAX
        ),
        f"a function has at most {FUNCTION_LINES_MAX} lines: name its parts",
    )


def test_functions_have_few_arguments():
    def counted(function: tree.Function) -> int:
        return sum(one.arg not in ("self", "cls") for one in tree.arguments_of(function))

    keep(
        (
            f"{one.at(function)} {function.name}: {counted(function)} arguments"
            for one in ALL
            for function in one.functions()
            if counted(function) > ARGUMENTS_MAX
        ),
        f"a function has at most {ARGUMENTS_MAX} arguments: a value is missing that holds them",
    )


def test_blocks_are_not_nested_deeply():
    keep(
        (
            f"{one.at(function)} {function.name}: {tree.depth_of(function)} blocks deep"
            for one in ALL
            for function in one.functions()
            if tree.depth_of(function) > DEPTH_MAX
        ),
        f"blocks stand at most {DEPTH_MAX} deep: return early, or name the inner part",
    )


def test_lines_are_short():
    keep(
        (
            f"{one.name}:{number}: {len(line)} characters"
            for one in ALL
            for number, line in enumerate(one.lines, 1)
            if len(line) > LINE_LENGTH_MAX
        ),
        f"a line has at most {LINE_LENGTH_MAX} characters",
    )


def test_every_program_text_names_its_licence():
    def needs_one(name: str, text: str) -> bool:
        return name.endswith((".py", ".sh")) or Path(name).name == "Makefile" or text[:2] == "#!"

    keep(
        (
            name
            for name, text in text_files()
            if needs_one(name, text)
            and "# SPDX-License-Identifier: Apache-2.0" not in text.splitlines()[:2]
        ),
        "add '# SPDX-License-Identifier: Apache-2.0' as the first line, or after '#!'",
    )


def test_names_say_what_things_are():
    def banned(name: str) -> bool:
        own = re.sub("|".join(FORCED_NAMES), "", name, flags=re.IGNORECASE)
        return not BANNED_WORDS.isdisjoint(tree.words_of(own))

    modules = (one.name for one in ALL if banned(one.module.split(".")[-1]))
    names = (
        f"{one.name}:{line} {name}"
        for one in ALL
        for line, name in tree.names_given(one)
        if banned(name)
    )
    keep(
        (*modules, *names),
        f"these words name nothing, say what it is instead: {', '.join(sorted(BANNED_WORDS))}",
    )


def test_every_forced_name_is_needed():
    given = " ".join(name.lower() for one in ALL for _, name in tree.names_given(one))
    keep(
        (name for name in FORCED_NAMES if name not in given),
        "nothing has this name any more: take it off FORCED_NAMES",
    )


def test_every_module_says_what_it_is_for():
    # A file of the mirror says it by its name.
    mirrors = {path.as_posix() for one in PRODUCT for path in mirrors_of(one)}
    keep(
        (
            one.name
            for one in ALL
            if one.tree.body and ast.get_docstring(one.tree) is None and one.name not in mirrors
        ),
        "begin the module with a docstring: what lives here, and what does not",
    )


def test_public_definitions_say_what_they_are_for():
    """The small ones speak for themselves; a method of a derived class has its words above."""

    def silent(source: Source) -> Iterator[str]:
        derived = {
            node.name for node in source.tree.body if isinstance(node, ast.ClassDef) and node.bases
        }
        for name, node in tree.public_definitions(source):
            long = tree.statements_in(node) > STATEMENTS_WITHOUT_DOCSTRING
            overrides = "." in name and name.split(".")[0] in derived
            if long and not overrides and ast.get_docstring(node) is None:
                yield f"{source.at(node)} {name}"

    keep(
        (place for one in PRODUCT for place in silent(one)),
        f"more than {STATEMENTS_WITHOUT_DOCSTRING} statements: say in a docstring what it is for",
    )


def test_nothing_is_left_for_later():
    keep(
        (
            f"{name}:{number}"
            for name, text in text_files()
            for number, line in enumerate(text.splitlines(), 1)
            if LEFTOVERS.search(line)
        ),
        "do it now, or say in an issue what is to be done",
    )


def test_no_test_is_switched_off():
    def off(source: Source) -> Iterator[str]:
        for node in source.nodes:
            match node:
                case ast.Attribute(ast.Attribute(attr="mark"), "skip" | "skipif" | "xfail"):
                    yield source.at(node)

    keep((place for one in ALL for place in off(one)), "repair what the test found, or delete it")


def test_a_silenced_tool_is_told_why():
    keep(
        (
            f"{one.name}:{number}: {line.strip()}"
            for one in ALL
            for number, line in enumerate(one.lines, 1)
            if (found := SILENCERS.search(line)) and not SILENCER_WITH_REASON.match(found["rest"])
        ),
        "give the reason behind the code, as in '# no" + "qa: A001 - the name is cliff's'",
    )


def test_private_names_stay_in_their_module():
    ours = ("trueup", "tests")

    def private(name: str) -> bool:
        return name.startswith("_") and not name.startswith("__")

    def taken(source: Source) -> Iterator[str]:
        imported = set()
        for node, module, name in source.imports:
            if is_within(module, ours) or module.startswith("."):
                imported.add(name)
                if private(name) or any(map(private, module.strip(".").split("."))):
                    yield f"{source.at(node)} {name}"
        for node in source.nodes:
            match node:
                case ast.Attribute(ast.Name(owner), name) if owner in imported and private(name):
                    yield f"{source.at(node)} {owner}.{name}"

    keep(
        (place for one in ALL for place in taken(one)),
        "make the name public where it is defined, or do without it",
    )


@pytest.mark.parametrize("library", DOORS)
def test_every_library_has_one_door(library):
    keep(
        (
            f"{one.at(node)} imports {module}"
            for one in PRODUCT
            for node, module, _ in one.imports
            if is_within(module, [library]) and not is_within(one.module, DOORS[library])
        ),
        f"{library} is imported only in {', '.join(DOORS[library])}: ask that module instead",
    )


def test_no_path_or_host_of_one_machine_is_written_down():
    keep(
        (
            f"{name}:{number}: {word}"
            for name, text in text_files()
            for number, line in enumerate(text.splitlines(), 1)
            for word in MACHINE_WORDS
            if word in line
        ),
        "that is true on one machine only: leave it out, or take it from the environment",
    )


def mirrors_of(source: Source) -> tuple[Path, ...]:
    """Where the tests of a module may be: in its own file, or in that of its package."""
    *folders, name = source.module.split(".")[1:] or [source.module]
    own = Path("tests", *folders, f"test_{name}.py")
    # A layer (`trueup.cli`) is more than one concern; a package below it is one.
    of_package = [Path("tests", *folders[:-1], f"test_{folders[-1]}.py")] if folders[1:] else []
    return own, *of_package


def is_exempt(module: str) -> bool:
    """By its own name, or as one of the files of a folder that is."""
    return module in WITHOUT_MIRROR or module.rpartition(".")[0] in FOLDERS_WITHOUT_MIRROR


def does_something(function: tree.Function) -> bool:
    """Not so a function that only says what others must offer."""
    return not all(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for node in function.body
    )


def test_every_module_has_its_test_file():
    keep(
        (
            f"{one.name}: {' or '.join(map(str, mirrors_of(one)))}"
            for one in PRODUCT
            if len(one.lines) >= MIRRORED_LINES_MIN
            and any(map(does_something, one.functions()))
            and not is_exempt(one.module)
            and not any((REPOSITORY / path).is_file() for path in mirrors_of(one))
        ),
        "write a test file where the module's name leads",
    )


def test_a_class_name_means_one_thing_within_a_half():
    """A half is its package with the modules of the model that it imports."""

    def repeated(half: str) -> Iterator[str]:
        own = [one for one in PRODUCT if is_within(one.module, [half])]
        asked = {module for one in own for _, module, _ in one.imports}
        model = [one for one in PRODUCT if is_within(one.module, ["trueup.model"])]
        places: dict[str, list[str]] = {}
        for one in own + [one for one in model if one.module in asked]:
            for name, node in tree.public_definitions(one):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(name, []).append(one.at(node))
        yield from (f"{name}: {' and '.join(at)}" for name, at in places.items() if at[1:])

    keep(
        (place for half in ("trueup.placement", "trueup.reconcile") for place in repeated(half)),
        "two classes of one half have this name: give one of them another name",
    )


def test_every_folder_has_an_import_contract():
    contracts = ConfigParser()
    contracts.read(REPOSITORY / ".importlinter")
    covered = {
        name.removesuffix(".*")
        for section in contracts.values()
        for option in ("containers", "modules")
        if option == "modules" or section.get("exhaustive") == "true"
        for name in section.get(option, "").split()
    }
    modules = {one.module for one in PRODUCT}
    siblings = Counter(module.rpartition(".")[0] for module in modules)
    keep(
        (folder for folder, count in siblings.items() if count > 1 and folder not in covered),
        "a folder has a contract in .importlinter that says who may import whom",
    )


def test_changes_of_the_ledger_are_noted_by_one_function():
    keep(
        (
            one.name
            for one in PRODUCT
            if re.search(r"\bNOTED\b", one.text)
            and not is_within(one.module, ["trueup.placement.store.engine"])
        ),
        "call changes.note instead of writing into the connection's set",
    )


def test_every_exemption_from_the_mirror_is_needed():
    there = {one.module: one for one in PRODUCT}
    keep(
        (
            module
            for module in WITHOUT_MIRROR
            if module not in there
            or any((REPOSITORY / path).is_file() for path in mirrors_of(there[module]))
        ),
        "it is gone, or has its test file: take it off WITHOUT_MIRROR",
    )
