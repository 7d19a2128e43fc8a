# SPDX-License-Identifier: Apache-2.0
"""What a package index shows of Trueup, and what the source distribution holds."""

import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_binary_file
from pathlib import Path

import pytest

from tests import tree
from tests.tree import REPOSITORY

BACKEND = "import sys; sys.path.insert(0, 'tools'); import distribution"
WHEEL = f"{BACKEND}; distribution.build_wheel(sys.argv[1])"
BUILD = f"{BACKEND}; distribution.build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    # setuptools writes its egg-info beside the sources, so it works on a copy.
    copy = folder / "copy"
    for name in tree.files():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((REPOSITORY / name).read_bytes())
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=copy, check=True, capture_output=True
    )
    [archive] = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder)
    return folder / archive.name.removesuffix(".tar.gz")


def test_it_holds_what_builds_tests_and_documents_it(sdist):
    packed = {path.relative_to(sdist).as_posix() for path in sdist.rglob("*") if path.is_file()}
    assert not {name.as_posix() for name in tree.files()} - packed


def test_its_page_has_no_relative_links_or_pictures(sdist):
    with (sdist / "PKG-INFO").open("rb") as file:
        described = message_from_binary_file(file)
    page = described.get_payload(decode=True).decode()
    assert described["Description-Content-Type"] == "text/markdown"
    assert "Trueup keeps the ledger true." in page
    assert "(`docs/repair.md`)" in page
    assert not re.findall(r"\]\((?!https?:)", page)


def test_it_says_for_whom_and_for_what_it_is(sdist):
    with (sdist / "PKG-INFO").open("rb") as file:
        described = message_from_binary_file(file)
    assert "openstack" in described["Keywords"]
    assert "Typing :: Typed" in described.get_all("Classifier")


@pytest.fixture(scope="module")
def packed(sdist, tmp_path_factory) -> zipfile.ZipFile:
    """The wheel that is built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", WHEEL, str(folder)]
    subprocess.run(command, cwd=sdist, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def test_what_is_installed_has_the_man_pages_and_the_completions(packed):
    share = [name.partition(".data/data/share/")[2] for name in packed.namelist()]
    assert {
        "man/man1/trueup.1",
        "man/man1/trueup-plan-show.1",
        "bash-completion/completions/trueup",
        "fish/vendor_completions.d/trueup.fish",
        "zsh/site-functions/_trueup",
    } <= set(share)
    assert "trueup/cli/completions/bash/trueup" in packed.namelist()


def test_what_is_installed_has_the_page_of_every_defect(packed):
    for path in (REPOSITORY / "docs" / "defects").glob("*.md"):
        assert packed.read(f"trueup/defect_pages/{path.name}") == path.read_bytes()
