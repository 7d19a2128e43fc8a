# SPDX-License-Identifier: Apache-2.0
"""Why a query for candidates finds no host: which filter of it leaves out which hosts."""

from trueup.placement.index.filters import text_of
from trueup.placement.why.asking import (
    LedgerAway,
    Question,
    QuestionUnusable,
    Reason,
    Writes,
    answer_in,
    open_ledger,
    question_in,
    question_of,
    reading,
    reason_in,
    why,
)
from trueup.placement.why.words import verdict
