# SPDX-License-Identifier: Apache-2.0
"""The two claims of a move that waits for confirmation, compared with what they should be."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.expected import expected
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.claims import NotCertain, claim_of
from trueup.reconcile.rules.unconfirmed_moves import on_unknown_host, wrong_claims

RESIZE = """cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h2 state=resized old-VCPU=1 VCPU=2 MEMORY_MB=256
  resize of web from h1 to h2 finished
"""
WEB, MOVE = uuid_of("web"), uuid_of("resize-of-web")
TARGET = {uuid_of("h2"): {"VCPU": 2, "MEMORY_MB": 256}}
SOURCE = {uuid_of("h1"): {"VCPU": 1, "MEMORY_MB": 256}}
NIC = {uuid_of("nic"): {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}}


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ({WEB: TARGET, MOVE: SOURCE}, []),
        # Its ports may rightly hold more.
        ({WEB: TARGET | NIC, MOVE: SOURCE}, []),
        ({WEB: SOURCE, MOVE: TARGET}, [WEB, MOVE]),
        ({WEB: TARGET | SOURCE}, [WEB, MOVE]),
        ({WEB: TARGET, MOVE: TARGET}, [MOVE]),
    ],
)
def test_claims_with_wrong_amounts_are_named(held, wrong):
    facts = facts_of(RESIZE)
    words = in_words(wrong_claims(expected(facts.alive[WEB], facts), held, {}))
    assert [one for one in (WEB, MOVE) if f"{one} holds" in words] == wrong


def test_a_move_without_a_uuid_has_no_consumer_that_could_lack_a_claim():
    """migrations.uuid is nullable. Placement would be asked for the allocations of nobody."""
    facts = facts_of(RESIZE + "holds web h2 VCPU=2 MEMORY_MB=256\n")
    [move] = facts.migrations
    claim = claim_of(WEB, replace(facts, migrations=(replace(move, uuid=""),)))
    assert isinstance(claim, NotCertain)
    assert "its resize, whose status is finished, has no uuid" in in_words(claim.reason)


@pytest.mark.parametrize(
    ("fields", "side"),
    [
        ({}, ""),
        ({"source_node": None}, "source, host h1, node none"),
        ({"source_host": None, "source_node": None}, "source, host none, node none"),
        ({"target_host": None}, "target, host none, node h2"),
        ({"source_host": "gone"}, "source, host gone, node h1"),
        ({"source_host": "gone", "source_node": None}, "source, host gone, node none"),
        ({"source_node": "gone"}, "source, host h1, node gone"),
        ({"target_host": "gone"}, "target, host gone, node h2"),
    ],
)
def test_a_move_between_hosts_of_which_one_is_unknown_is_named(fields, side):
    facts = facts_of(RESIZE)
    [move] = facts.migrations
    words = in_words(on_unknown_host(replace(move, **fields), facts))
    assert side in words
    assert bool(words) == bool(side)
