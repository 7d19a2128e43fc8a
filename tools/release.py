# SPDX-License-Identifier: Apache-2.0
"""Usage: release.py FOLDER - what a release uploads, in FOLDER/VERSION.

All is made twice from the commit, and must be the same bytes both times.

Two wheels (Trueup, and the names of Placement), the source distribution, and what the wheel brings
when it is installed, as a bill of materials (CycloneDX). `twine` checks the metadata.

The time in the files is the commit's, or SOURCE_DATE_EPOCH where that is set.
"""

import gzip
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = "packaging/placement-names"
# Each build of its own, as pip does it; none fetches anything.
BUILD = """
import importlib, os, sys, tomllib
backend = tomllib.load(open("pyproject.toml", "rb"))["build-system"]
sys.path[:0] = [os.path.abspath(path) for path in backend.get("backend-path", [])]
getattr(importlib.import_module(backend["build-backend"]), sys.argv[1])(sys.argv[2])
"""


def main(folder: Path) -> None:
    """Raise SystemExit with what is wrong; write nothing until all is right."""
    folder /= version()
    if folder.exists():
        raise SystemExit(f"{folder} is there: remove it to make the release again.")
    differing = [path for path, found in stated_versions().items() if found != {version()}]
    if differing:
        raise SystemExit(f"pyproject.toml says {version()}, and not so {', '.join(differing)}.")
    os.environ.setdefault("SOURCE_DATE_EPOCH", _time_of_the_commit())
    # Modes of files are in the archives, and would be the builder's.
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (_made(Path(scratch) / name) for name in ("first", "second"))
        for path in sorted(first.iterdir()):
            if path.read_bytes() != (second / path.name).read_bytes():
                raise SystemExit(f"{path.name} is not the same when it is built again.")
        _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, first.iterdir()))
        _write_bill_of_materials(first)
        folder.mkdir(parents=True)
        for path in sorted(first.iterdir()):
            (folder / path.name).write_bytes(path.read_bytes())
            sys.stdout.write(f"{folder / path.name}\n")


def version() -> str:
    """The one that pyproject.toml states; every other place follows it."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def stated_versions() -> dict[str, set[str]]:
    """Each file that names a version of ours, with the versions that it names."""
    ours = re.compile(
        r"""(?:trueup/(?:service|watch|placement-api):|_tag: "|^version = ")(\d[\w.]*)""", re.M
    )
    paths = [*ROOT.glob("packaging/**/*"), ROOT / "docs/service/deployment-tools.md"]
    texts = {
        str(path.relative_to(ROOT)): path.read_text(errors="replace")
        for path in paths
        if path.is_file()
    }
    return {path: found for path, text in texts.items() if (found := set(ours.findall(text)))}


def _made(folder: Path) -> Path:
    """The files of a release, from a clean copy of the commit."""
    copy, made = folder / "copy", folder / "made"
    made.mkdir(parents=True)
    archive = folder / "commit.tar"
    _run("git", "archive", "--output", str(archive), "HEAD")
    with tarfile.open(archive) as tar:
        tar.extractall(copy, filter="data")
    for tree in (copy, copy / NAMES):
        _run(sys.executable, "-c", BUILD, "build_wheel", str(made), cwd=tree)
    _run(sys.executable, "-c", BUILD, "build_sdist", str(made), cwd=copy)
    [source] = made.glob("*.tar.gz")
    _without_the_builder(source)
    return made


def _without_the_builder(archive: Path) -> None:
    """Write a source distribution again with one time, one owner and one order.

    setuptools has no option for it: an archive keeps who built it, and when.
    """
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    plain = archive.with_suffix("")
    with tarfile.open(archive) as found, tarfile.open(plain, "w") as tar:
        for member in sorted(found.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.pax_headers = {}
            tar.addfile(member, found.extractfile(member) if member.isfile() else None)
    with archive.open("wb") as written, gzip.GzipFile("", "wb", fileobj=written, mtime=0) as zipped:
        zipped.write(plain.read_bytes())
    plain.unlink()


def _write_bill_of_materials(folder: Path) -> None:
    """What an environment has that got the wheel with the extra `all` at the pinned versions."""
    [wheel] = folder.glob("trueup-*.whl")
    with tempfile.TemporaryDirectory() as environment:
        _run(sys.executable, "-m", "venv", environment)
        pip = [f"{environment}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(*pip, "--constraint", "constraints.txt", f"{wheel}[all]")
        # Of the environment's own tools, nothing is Trueup's.
        _run(f"{environment}/bin/pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")
        _run(
            *(sys.executable, "-m", "cyclonedx_py", "environment", environment),
            *("--pyproject", "pyproject.toml", "--output-reproducible", "--short-PURLs"),
            *("--output-file", str(folder / f"trueup-{version()}.cdx.json")),
        )


def _time_of_the_commit() -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _run(*command: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
