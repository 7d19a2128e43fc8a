# SPDX-License-Identifier: Apache-2.0
"""Audits and plans while instances boot, move and die: nothing that is alive is to be changed."""

import json
import time
from dataclasses import replace

from tests.real.cloud.churn import churn

MINUTES = {"upstream": 1, "trueup": 3}


def test_no_step_is_planned_for_what_is_alive(placement, cloud, trueup, record_property):
    deadline = time.monotonic() + 60 * MINUTES[placement]
    busy = replace(trueup, while_busy=True)
    kept = cloud.site.logs / f"live-{placement}"
    kept.mkdir()
    rows, planned = [], []
    with churn(cloud, workers=2) as lives:
        audits = 0
        while time.monotonic() < deadline:
            audits += 1
            file = kept / f"audit{audits}.json"
            answer = busy.audit("--save", str(file))
            rows += [row | {"kept": file.name} for row in answer.rows]
            planned += busy.plan()[1].rows
    findings = [row for row in rows if row["Verdict"] == "finding"]
    # Whoever looks into a failure finds what was said, and the observations, beside the logs.
    (kept / "said.json").write_text(json.dumps(rows, indent=1))
    record_property("audits", audits)
    record_property("findings", len(findings))
    record_property("not checked", len(rows) - len(findings))
    record_property("instances", len(lives.ended))
    assert lives.failed == []
    assert lives.ended
    assert planned == []
