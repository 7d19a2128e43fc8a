# SPDX-License-Identifier: Apache-2.0
"""What a release uploads: the same bytes twice, complete, and with one version."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.tree import REPOSITORY

VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]


def release(checkout: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # Whose permissions and clock they are must not show in the files.
    command = [sys.executable, str(checkout / "tools/release.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, umask=0o077, check=False)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A clone of this checkout as it is now, committed."""
    clone = tmp_path / "clone"
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "clone", "-q", REPOSITORY, clone], check=True)
    listed = [*git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    found = subprocess.run(listed, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    for name in filter(None, found.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((REPOSITORY / name).read_bytes())
            os.chmod(clone / name, (REPOSITORY / name).stat().st_mode)
    subprocess.run([*git, "add", "--all"], cwd=clone, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "now"], cwd=clone, check=True)
    return clone


def test_a_release_is_whole_and_is_the_same_when_it_is_made_again(checkout, tmp_path):
    made = release(checkout, tmp_path / "dist")
    assert made.returncode == 0, made.stdout + made.stderr
    folder = tmp_path / "dist" / VERSION
    wheel = folder / f"trueup-{VERSION}-py3-none-any.whl"
    source = folder / f"trueup-{VERSION}.tar.gz"
    names = folder / f"trueup_placement_names-{VERSION}-py3-none-any.whl"
    bill = folder / f"trueup-{VERSION}.cdx.json"
    assert sorted(folder.iterdir()) == sorted([wheel, source, names, bill])

    within = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("share/man/man1/trueup.1") for name in within)
    assert "trueup/defect_pages/missing-allocation.md" in within
    # Nothing of the builder is in the archive, and all that the tests need is.
    with tarfile.open(source) as tar:
        members = tar.getmembers()
    assert {(one.uid, one.gid, one.uname, one.gname) for one in members} == {(0, 0, "", "")}
    assert len({one.mtime for one in members}) == 1
    packed = {name.partition("/")[2] for name in (member.name for member in members)}
    assert {"Makefile", "tests/tree.py", "docs/quick-start.md", "tools/release.py"} <= packed
    brought = {one["name"].lower() for one in json.loads(bill.read_text())["components"]}
    assert {"sqlalchemy", "falcon", "granian", "pymysql"} <= brought
    assert str(tmp_path) not in bill.read_text()

    again = release(checkout, tmp_path / "dist")
    assert again.returncode == 1
    assert "remove it to make the release again" in again.stderr


def test_a_version_that_another_file_states_otherwise_is_refused_by_name(checkout, tmp_path):
    page = checkout / "packaging/openstack-helm/values.yaml"
    page.write_text(page.read_text().replace(f":{VERSION}", ":9.9.9", 1))
    made = release(checkout, tmp_path / "dist")
    assert made.returncode == 1
    assert "packaging/openstack-helm/values.yaml" in made.stderr
    assert not (tmp_path / "dist").exists()
