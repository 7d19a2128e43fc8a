# SPDX-License-Identifier: Apache-2.0
"""An audit can be kept in a file."""

from tests.reconcile.planning import BROKEN, audited
from tests.scenarios.drafting import NOW
from trueup.reconcile.audit.audit_file import load, save

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
