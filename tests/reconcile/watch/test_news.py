# SPDX-License-Identifier: Apache-2.0
import json

from tests.reconcile.page.paging import seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import MINUTE
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.watch.memory import Memory, after_round, news_in
from trueup.reconcile.watch.news import news_document


def test_the_news_name_what_appeared_and_what_is_gone():
    one = seen(BROKEN)
    memory = after_round(Memory(notified=frozenset({"past:1"})), one.audit, one.facts.cells, 1.0)
    news = news_in(memory, MINUTE * 0)
    document = json.loads(json.dumps(news_document(memory, news, MINUTE * 0)))
    assert document["gone"] == ["past:1"]
    assert document["findings"] == 3
    assert document["by_severity"] == {"critical": 0, "high": 2, "medium": 1, "low": 0}
    [old] = [row for row in document["appeared"] if row["subject"] == uuid_of("old")]
    assert old == {
        "id": f"orphaned-allocation:{uuid_of('old')}",
        "defect": "orphaned-allocation",
        "severity": "medium",
        "subject": uuid_of("old"),
        "where": "h1",
        "since": "2026-11-21T11:00:00Z",
        "first_seen": "2026-11-21T12:00:00Z",
        "returned": 0,
    }
    assert (document["complete"], document["format"]) == (True, 1)
