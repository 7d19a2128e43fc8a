# SPDX-License-Identifier: Apache-2.0
"""Consumers that no cell has: what Nova's own mapping says of each."""

import pytest

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.strangers import never_built, row_lost, strangers
from trueup.reconcile.verdicts import AuditOptions

CLOUD = "cell1\n  host h1 VCPU=8\n{}holds web h1 VCPU=1\n"


@pytest.mark.parametrize(
    ("lines", "built_never", "lost"),
    [
        ("", False, False),
        ("map web nowhere age=600\n", True, False),
        ("map web nowhere age=599\n", False, False),
        ("map web nowhere age=600\nbuild web\n", False, False),
        ("map web cell1\n", False, True),
        ("map web cell1 queued\n", False, False),
    ],
)
def test_the_mapping_of_nova_is_evidence(lines, built_never, lost):
    facts = read_cloud(CLOUD.format(lines)).facts()
    assert never_built(uuid_of("web"), facts, AuditOptions()) is built_never
    assert bool(row_lost(uuid_of("web"), facts)) is lost


@pytest.mark.parametrize(
    ("lines", "words"),
    [("", "its owner is not known"), ("map web cell1 queued\n", "and queued it for deletion")],
)
def test_what_is_known_of_its_owner_is_said(lines, words):
    [row] = strangers(read_cloud(CLOUD.format(lines)).facts(), ())
    assert words in in_words(row.reason)
