# SPDX-License-Identifier: Apache-2.0
"""Audits while instances boot, move and die: nothing that is alive is called drift."""

import json
import time

from tests.real.cloud.churn import churn

MINUTES = {"upstream": 1, "trueup": 3}


def test_nothing_alive_is_called_drift(placement, cloud, trueup, record_property):
    deadline = time.monotonic() + 60 * MINUTES[placement]
    kept = cloud.site.logs / f"live-{placement}"
    kept.mkdir()
    audits, found, planned = 0, [], []
    with churn(cloud, workers=2) as lives:
        while time.monotonic() < deadline:
            audits += 1
            file = kept / f"audit{audits}.json"
            answer = trueup.audit("--save", str(file))
            found += [row | {"kept": file.name} for row in answer.rows]
            planned += trueup.plan()[1].rows
    # Whoever looks into a failure finds what was said, and the observations, beside the logs.
    (kept / "findings.json").write_text(json.dumps(found, indent=1))
    record_property("audits", audits)
    record_property("findings", len(found))
    record_property("instances", len(lives.ended))
    assert lives.failed == []
    assert lives.ended
    assert planned == []
    assert found == []
