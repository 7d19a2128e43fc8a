# SPDX-License-Identifier: Apache-2.0
"""A file is written whole and durably, to the file that a path leads to, or not at all."""

import gzip
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from trueup.reconcile.audit import audit_file
from trueup.reconcile.copies import ledger_copy, snapshot
from trueup.reconcile.files import (
    FileUnreadable,
    FileUnwritable,
    refuse_unwritable,
    write,
    write_once,
)
from trueup.reconcile.plan import plan_file

LOADS = {
    "an audit": audit_file.load,
    "a copy of a ledger": ledger_copy.load,
    "a plan": plan_file.load,
    "a snapshot": snapshot.load,
}
NOTHING_OF_OURS = [
    b"", b"null", b"[]", b"{}", b"nonsense", b"\xff\xfe", b'{"taken_at": 1, "findings": []}',
    b'{"digest": "x", "plan": {}}', b'{"format": 1}', gzip.compress(b""), gzip.compress(b"{}"),
    gzip.compress(b"\xff"), gzip.compress(b'{"format": 1}'),
    gzip.compress(b'{"format": 1, "anonymized": false, "facts": {}}'),
    gzip.compress(b'{"format": 1, "anonymized": false}')[:-9],
]  # fmt: skip


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_for_its_owner(tmp_path):
    write(tmp_path / "plan.json", b"one")
    assert (tmp_path / "plan.json").read_bytes() == b"one"
    assert mode(tmp_path / "plan.json") == 0o600
    assert os.listdir(tmp_path) == ["plan.json"]


def test_what_is_written_once_stays_as_the_first_one_wrote_it(tmp_path):
    path = tmp_path / "key"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write_once(path, b"%d" % number * 9), range(8)))
    first = path.read_bytes()
    assert first in {b"%d" % number * 9 for number in range(8)}
    write_once(path, b"later")
    assert (path.read_bytes(), mode(path)) == (first, 0o600)
    assert os.listdir(tmp_path) == ["key"]


def test_an_existing_file_keeps_its_mode(tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(b"a longer content")
    path.chmod(0o640)
    write(path, b"two")
    assert (path.read_bytes(), mode(path)) == (b"two", 0o640)


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "plan.json", tmp_path / "link.json"
    link.symlink_to(target)
    write(link, b"new")
    write(link, b"newer")
    assert link.is_symlink()
    assert target.read_bytes() == b"newer"
    assert os.listdir(tmp_path / "there") == ["plan.json"]


def fifo(folder):
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def link_to_a_device(folder):
    (folder / "link").symlink_to("/dev/null")
    return folder / "link"


@pytest.mark.parametrize(
    "made",
    [
        fifo,
        link_to_a_device,
        lambda folder: folder,
        lambda _: "/dev/null",
        lambda _: "/dev/stdout",
        lambda folder: folder / "none" / "plan.json",
    ],
    ids=["FIFO", "link to a device", "folder", "device", "/dev/stdout", "no such folder"],
)
@pytest.mark.parametrize("act", [refuse_unwritable, lambda path: write(path, b"x")])
def test_what_is_no_regular_file_is_refused(tmp_path, made, act):
    path = made(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileUnwritable) as refused:
        act(type(tmp_path)(path))
    assert refused.value.path == str(path)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_in_shared_memory_is_written():
    with TemporaryDirectory(dir="/dev/shm") as folder:
        write(Path(folder) / "plan.json", b"one")
        assert os.listdir(folder) == ["plan.json"]


def test_what_can_be_written_is_not_touched_by_asking(tmp_path):
    path = tmp_path / "plan.json"
    refuse_unwritable(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"one")
    refuse_unwritable(path)
    assert path.read_bytes() == b"one"


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "plan.json"
    path.write_bytes(b"one")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileUnwritable, match="No space left"):
        write(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["plan.json"]


@pytest.mark.parametrize("kind", LOADS)
def test_what_trueup_did_not_write_is_refused_by_name(tmp_path, kind):
    path = tmp_path / "of ours"
    with pytest.raises(FileUnreadable, match="No such file"):
        LOADS[kind](path)
    for content in NOTHING_OF_OURS:
        path.write_bytes(content)
        with pytest.raises(FileUnreadable, match=f"it is not {kind}") as refused:
            LOADS[kind](path)
        assert refused.value.path == str(path)
