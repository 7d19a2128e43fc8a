# SPDX-License-Identifier: Apache-2.0
"""The index of the pages and the schema name every defect, and the schema every reason."""

from tools.defect_lists import lists


def test_the_files_are_what_the_tool_writes():
    old = [path.name for path, text in lists().items() if path.read_text() != text]
    assert not old, "run: python tools/defect_lists.py"
