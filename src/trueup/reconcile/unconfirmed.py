# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the claims of a move that waits for confirmation, in words. Pure."""

from collections.abc import Iterable, Mapping

from trueup.reconcile.expected import ExpectedAllocation, Share, share_agrees
from trueup.reconcile.facts import Amounts
from trueup.reconcile.findings import amounts_in_words


def wrong_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> str:
    """Which of the claims have wrong amounts of processors, memory or disk; empty: none has.

    `held`: what the instance and each of its migrations hold. A third claim, as an older migration
    leaves it, is wrong. Ports and devices are not compared: it is not known which of them the
    source gave.
    """
    should = {one.consumer: one for one in every}
    wrong = [one for one in should.values() if not _agrees(held.get(one.consumer, {}), one)]
    sentences = [
        f"{one.consumer} holds {_in_words(held.get(one.consumer, {}), names)}, "
        f"should hold {_in_words(one.known, names)}"
        for one in wrong
    ]
    sentences += [
        f"its other migration {consumer} holds {_in_words(held[consumer], names)}"
        for consumer in sorted(held.keys() - should.keys())
    ]
    return "; ".join(sentences)


def _in_words(amounts: Amounts, names: Mapping[str, str]) -> str:
    return amounts_in_words(amounts, names) or "nothing"


def _agrees(held: Amounts, wanted: ExpectedAllocation) -> bool:
    return not wanted.parts or share_agrees(Share.HOST, held, wanted)
