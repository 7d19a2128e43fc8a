# SPDX-License-Identifier: Apache-2.0
import json

from trueup.placement.api.wire import export


def test_every_line_is_a_document_of_its_own() -> None:
    assert json.loads(export.head()) == {"trueup_export": export.FORM}
    assert export.end(2, 3).endswith(b"\n")
    assert json.loads(export.end(2, 3)) == {"end": {"providers": 2, "consumers": 3}}


def test_lines_are_sent_in_blocks() -> None:
    lines = [b"1\n", b"2\n", b"3\n"]
    assert list(export.blocks(iter(lines), 2)) == [b"1\n2\n", b"3\n"]
    assert list(export.blocks(iter(lines[:2]), 2)) == [b"1\n2\n"]
