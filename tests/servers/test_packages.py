# SPDX-License-Identifier: Apache-2.0
"""`make packages` installs every program that a test looks for."""

import re

from tests.tree import REPOSITORY

NAMED = re.compile(r'^PACKAGE = "([a-z-]+)"$|find_program\("[\w-]+", "([a-z-]+)"', re.MULTILINE)
# psql comes with the server's package; the other two are no packages of Debian.
ELSEWHERE = {"postgresql-client", "trueup", "some-package"}


def test_make_packages_installs_what_tests_look_for():
    texts = [file.read_text() for file in (REPOSITORY / "tests").rglob("*.py")]
    found = NAMED.findall("\n".join(texts))
    named = {one for pair in found for one in pair if one} - ELSEWHERE
    assert {"haproxy", "mariadb-server", "rsync"} <= named
    installed = set((REPOSITORY / "tools" / "packages").read_text().split())
    assert named - installed == set()
