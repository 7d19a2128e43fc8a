# SPDX-License-Identifier: Apache-2.0
"""The lists of what only `make conformance` runs name tests that there are."""

import pytest

from tests.long import GROWS, LONG, TESTS, is_long


def test_listed_files_and_folders_exist():
    assert all((TESTS / name).exists() for name in GROWS)
    assert all((TESTS / name.partition("::")[0]).is_file() for name in LONG)


@pytest.mark.parametrize("name", sorted(name for name in LONG if "::" in name))
def test_listed_tests_exist(name):
    path, _, test = name.partition("::")
    assert f"def {test.partition('[')[0]}(" in (TESTS / path).read_text()


def test_what_is_not_listed_is_not_long(request):
    assert not is_long(request.node)
