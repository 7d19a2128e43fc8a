# SPDX-License-Identifier: Apache-2.0
"""`make quick` selects the right tests, and its list of slow files names existing files."""

import pytest

from tests.quick import FOLDERS, SLOW, TESTS, is_quick


def test_listed_files_and_folders_exist():
    assert all((TESTS / name).exists() for name in SLOW)
    assert all((TESTS / name).is_dir() for name in FOLDERS)


def test_a_test_without_a_server_is_quick(request):
    assert is_quick(request.node)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql", "upstream"])
def test_a_test_of_a_server_is_not_quick(request, kind):
    assert not is_quick(request.node)
