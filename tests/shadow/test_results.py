# SPDX-License-Identifier: Apache-2.0
from trueup.shadow.answers import Difference
from trueup.shadow.comparing import Comparison, Outcome
from trueup.shadow.reads import Read
from trueup.shadow.results import document, timings

TRAITS, USAGES = Read("/traits", "1.39"), Read("/usages?project_id=x", None)
FOUND = [
    Comparison(TRAITS, Outcome.SAME, seconds=(0.010, 0.001)),
    Comparison(TRAITS, Outcome.MOVED, seconds=(0.030, 0.002)),
    Comparison(TRAITS, Outcome.SAME, seconds=(0.020, 0.004)),
    Comparison(
        USAGES, Outcome.DIFFERENT, (Difference("usages", "1", "2"),), seconds=(0.020, 0.020)
    ),
    Comparison(USAGES, Outcome.NOT_COMPARED, reason="upstream: gone"),
]


def test_times_are_medians_by_route():
    found = {timing.route: timing for timing in timings(FOUND)}
    assert list(found) == ["/traits", "/usages", "all"]
    assert (found["/traits"].upstream_ms, found["/traits"].trueup_ms) == (20, 2)
    assert found["/traits"].ratio == 10
    assert found["all"].reads == 4


def test_without_answers_there_are_no_times():
    assert timings([FOUND[-1]]) == []


def test_the_document_has_every_difference_and_what_was_not_compared():
    found = document(FOUND)
    assert (found["reads"], found["same"], found["same_when_asked_again"]) == (5, 2, 1)
    [different], [silent] = found["different"], found["not_compared"]
    assert different["differences"] == [{"where": "usages", "upstream": "1", "trueup": "2"}]
    assert silent["reason"] == "upstream: gone"
