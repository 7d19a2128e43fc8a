# SPDX-License-Identifier: Apache-2.0
"""Run upstream's gabbi files by hand.

    python -m tests.differential.gabbi_suite
    python -m tests.differential.gabbi_suite --database postgresql 'allocation*'
    python -m tests.differential.gabbi_suite --implementation tests.servers.upstream:make_app

Ends with 0 when every test passed.
"""

import argparse
import contextlib
import fnmatch
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.differential.gabbi_suite.suite import FOLDER, FileResult, file_names, run_file
from tests.servers.databases import DatabaseServer
from tests.servers.placement import IMPLEMENTATIONS
from tests.servers.processes import private_folder
from tests.servers.sources import KINDS, database_server
from tests.servers.upstream import create_tables

# Where a file's database is made: on a server, or in a folder for SQLite.
Place = DatabaseServer | Path


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    files = [
        name
        for name in file_names()
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.patterns)
    ]
    implementation = IMPLEMENTATIONS.get(options.implementation, options.implementation)
    began = time.monotonic()
    with _place(options.database) as place, ProcessPoolExecutor(options.jobs) as pool:
        run_one = partial(_run_one, implementation, place)
        done = pool.map(run_one, _biggest_first(files))
        results = sorted(done, key=lambda result: result.file)
    lines = [*_report(results, options.show), f"{time.monotonic() - began:.0f} s", ""]
    sys.stdout.write("\n".join(lines))
    return 0 if results and all(result.complete for result in results) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.gabbi_suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--implementation",
        default="trueup",
        help="upstream, trueup (the default), or module:callable",
    )
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=5, help="how many failures to print in full")
    parser.add_argument("patterns", nargs="*", default=["*"], help="files, without .yaml")
    return parser.parse_args(arguments)


@contextlib.contextmanager
def _place(kind: str) -> Iterator[Place]:
    if kind == "sqlite":
        with private_folder("gabbi", None) as folder:
            yield folder
    else:
        with database_server(kind) as server:
            yield server


def _biggest_first(files: Sequence[str]) -> list[str]:
    """So that no job ends long after the others."""
    return sorted(files, key=lambda file: (FOLDER / f"{file}.yaml").stat().st_size, reverse=True)


def _run_one(implementation: str, place: Place, file: str) -> FileResult:
    with contextlib.ExitStack() as dropped_at_the_end:
        if isinstance(place, DatabaseServer):
            url = dropped_at_the_end.enter_context(place.empty_database())
        else:
            url = f"sqlite:///{place / file}.sqlite"
        create_tables(url)
        return run_file(file, implementation, url)


def _report(results: Sequence[FileResult], in_full: int) -> Iterator[str]:
    for result in results:
        missing = "" if result.complete else f"  {result.tests - result.passed} NOT PASSED"
        yield f"{result.passed:5} of {result.tests:3}  {result.file}{missing}"
        yield from (f"{'':14}{name}" for name, _ in result.failures)
    failures = [(result.file, *failure) for result in results for failure in result.failures]
    for file, name, text in failures[:in_full]:
        yield f"\n--- {file}: {name}\n{text}"
    passed, tests = sum(r.passed for r in results), sum(r.tests for r in results)
    yield f"\n{passed} of {tests} tests passed, in {len(results)} files"


if __name__ == "__main__":
    sys.exit(main())
