# SPDX-License-Identifier: Apache-2.0
"""An audit can be kept in a file."""

import pytest

from tests.reconcile.planning import BROKEN, audited
from tests.scenarios.drafting import NOW
from trueup.reconcile.audit.audit_file import load, save
from trueup.reconcile.files import FileUnreadable, FileUnwritable

EVERYTHING = f"""{BROKEN}
  server busy on h1 task=migrating
  server lost on h9
cell2 silent
holds stranger h1 VCPU=1
"""


def test_an_audit_comes_back_from_its_file_as_it_was(tmp_path):
    kept = audited(EVERYTHING)
    assert kept.findings or kept.unchecked
    assert kept.left_alone
    save(kept, tmp_path / "look.json")
    assert load(tmp_path / "look.json") == kept
    assert load(tmp_path / "look.json").taken_at == NOW


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{}", b"nonsense", b'{"findings": []}', b"\xff\xfe", b'{"taken_at": 1}'],
)
def test_what_is_no_audit_is_refused_by_name(tmp_path, content):
    path = tmp_path / "look.json"
    path.write_bytes(content)
    with pytest.raises(FileUnreadable) as refused:
        load(path)
    assert refused.value.path == str(path)
    assert "it is not an audit" in refused.value.reason


def test_half_an_audit_is_refused(tmp_path):
    path = tmp_path / "look.json"
    save(audited(EVERYTHING), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileUnreadable):
        load(path)


def test_a_file_that_cannot_be_read_or_written_is_refused_by_name(tmp_path):
    with pytest.raises(FileUnreadable) as unread:
        load(tmp_path / "none.json")
    assert "No such file" in unread.value.reason
    with pytest.raises(FileUnwritable) as unwritten:
        save(audited(BROKEN), tmp_path / "none" / "look.json")
    assert unwritten.value.path == str(tmp_path / "none" / "look.json")
