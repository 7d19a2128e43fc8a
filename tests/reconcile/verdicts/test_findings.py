# SPDX-License-Identifier: Apache-2.0
"""Findings keep their name, and say amounts in one way."""

import pytest

from trueup.reconcile.verdicts import (
    Evidence,
    Finding,
    Severity,
    Subject,
    amounts_in_words,
    plain_words,
)
from trueup.reconcile.wording import counted


def finding(where: str, evidence: Evidence) -> Finding:
    subject = Subject("instance", "some-uuid")
    return Finding("wrong-provider", subject, where, Severity.HIGH, evidence)


def test_a_finding_has_the_same_id_whatever_its_evidence():
    first = finding("h1", {"holds": "VCPU=1"})
    later = finding("h2", {"holds": "VCPU=2"})
    assert first.id == later.id == "wrong-provider:some-uuid"
    assert first != later


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ({}, ""),
        ({"VCPU": 1}, "VCPU=1"),
        ({"DISK_GB": 3, "MEMORY_MB": 2, "VCPU": 1}, "VCPU=1 MEMORY_MB=2 DISK_GB=3"),
        ({"PCPU": 4, "CUSTOM_GOLD": 1, "MEMORY_MB": 2}, "MEMORY_MB=2 CUSTOM_GOLD=1 PCPU=4"),
    ],
)
def test_the_classes_of_every_host_come_first(amounts, words):
    assert plain_words(amounts) == words


def test_providers_come_in_the_order_of_their_names_and_unknown_ones_by_uuid():
    held = {"uuid-2": {"VCPU": 2}, "uuid-1": {"VCPU": 1}, "zz-uuid": {"VCPU": 3}}
    names = {"uuid-1": "beta", "uuid-2": "alpha"}
    assert amounts_in_words(held, names) == "VCPU=2 on alpha; VCPU=1 on beta; VCPU=3 on zz-uuid"


def test_one_is_not_several():
    assert [counted(n, "finding") for n in (0, 1, 2)] == ["0 findings", "1 finding", "2 findings"]
