# SPDX-License-Identifier: Apache-2.0
"""The two writers of docs/verified.md leave each other's part as it is."""

from collections import Counter

from tests.real.cloud.day import Shown
from tests.real.cloud.verified import Verified
from tests.real.cloud.watched import Diary, Observer


def shown(seed, diary):
    return Shown(seed, 2.0, diary, Observer(None, diary), first_kib=2048, last_kib=3072)


def test_the_day_is_written_anew_and_kept(tmp_path):
    page, diary = tmp_path / "verified.md", Diary(tmp_path / "diary.txt", Counter(lived=7))
    diary.note("planted", "a drift")
    diary.note("lived", "resizes")
    page.write_text("# Verified\n\nBy `make real`.\n")
    shown("first", diary).write(page)
    shown("second", diary).write(page)
    text = page.read_text()
    assert text.startswith("# Verified\n\nBy `make real`.\n\n## A long day\n")
    assert "`second`" in text
    assert "`first`" not in text
    assert "planted: a drift\n" in text
    assert "resizes" not in text
    _, _, day = text.partition("## A long day\n")
    Verified(page, servers={"MariaDB": "10"}).pytest_sessionfinish(0)
    assert page.read_text().count("## A long day\n") == 1
    assert page.read_text().endswith(day)
    assert "## Scenarios" in page.read_text()
