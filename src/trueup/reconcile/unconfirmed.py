# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the two claims of a move that waits for confirmation, in words. Pure."""

from collections.abc import Iterable, Mapping

from trueup.reconcile.expected import ExpectedAllocation, Share, share_agrees
from trueup.reconcile.facts import Amounts
from trueup.reconcile.findings import amounts_in_words


def wrong_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> str:
    """Which of the claims have wrong amounts of processors, memory or disk; empty: none has.

    Ports and devices are not compared: it is not known which of them the source gave.
    """
    wrong = [one for one in every if not _agrees(held.get(one.consumer, {}), one)]
    return "; ".join(
        f"{one.consumer} holds {amounts_in_words(held.get(one.consumer, {}), names) or 'nothing'}, "
        f"should hold {amounts_in_words(one.known, names) or 'nothing'}"
        for one in wrong
    )


def _agrees(held: Amounts, wanted: ExpectedAllocation) -> bool:
    return not wanted.parts or share_agrees(Share.HOST, held, wanted)
