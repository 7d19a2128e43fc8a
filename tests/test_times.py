# SPDX-License-Identifier: Apache-2.0
"""Where the time of a run went, and where its temporary files lie."""

from types import SimpleNamespace

from tests.memory import temporary_folder
from tests.times import Times

REPORTS = (
    ("tests/test_quick.py::test_three", 0.5, 0.5),
    ("tests/test_slow.py::test_one@group", 1.0, 0.0),
    ("tests/test_slow.py::test_one@group", 2.0, 1.0),
    ("tests/test_slow.py::test_two", 0.25, 0.0),
)


def test_a_run_says_where_its_time_went(tmp_path):
    times = Times(tmp_path / "made" / "times.txt")
    for nodeid, duration, processor in REPORTS:
        times.pytest_runtest_logreport(
            SimpleNamespace(nodeid=nodeid, duration=duration, processor=processor)
        )
    times.pytest_sessionfinish()
    assert [line.split() for line in times.target.read_text().splitlines()[1:]] == [
        ["3.2", "1.0", "2", "tests/test_slow.py", "(3.0", "test_one)"],
        ["0.5", "0.5", "1", "tests/test_quick.py", "(0.5", "test_three)"],
        ["3.8", "1.5", "3", "in", "all"],
    ]


def test_files_stay_where_they_were_without_room_in_memory(tmp_path):
    assert temporary_folder(tmp_path, room=1) == str(tmp_path)
    assert temporary_folder(tmp_path, room=2**62) is None
    assert temporary_folder(tmp_path / "missing", room=1) is None
