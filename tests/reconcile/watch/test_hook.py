# SPDX-License-Identifier: Apache-2.0
import json
import os
import select
import sys

import pytest

from tests.reconcile.page.paging import seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import MINUTE
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.watch.hook import Hook, hook_of, news_document
from trueup.reconcile.watch.memory import Memory, after_round, news_in

HANGS = "import os, time; print(os.getpid(), file=open({!r}, 'w'), flush=True); time.sleep(600)"


def ends(number: int) -> bool:
    """Whether the process ends: a kill is only a request, which a busy machine may do later."""
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([process], [], [], 60)
    finally:
        os.close(process)
    return bool(readable)


def python(program: str, seconds: float = 30.0) -> Hook:
    return Hook((sys.executable, "-c", program), seconds)


def test_it_gets_the_news_as_json_on_standard_input(tmp_path):
    path = tmp_path / "news"
    keep = f"import sys; open({str(path)!r}, 'wb').write(sys.stdin.buffer.read())"
    assert python(keep).run({"é": [1, None]}) == ""
    assert json.loads(path.read_bytes()) == {"é": [1, None]}


def test_a_hook_that_does_not_read_is_no_failure():
    assert python("pass").run({"much": "x" * 1_000_000}) == ""


def test_one_that_fails_is_told_with_its_own_words():
    reason = python("import sys; sys.exit('no such channel')").run({})
    assert reason == "it ended with 1: no such channel"


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    path = tmp_path / "number"
    child = HANGS.format(str(path))
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    hook = python(parent, seconds=3.0)
    assert hook.run({}) == "it did not end within 3 s, and was killed"
    if path.exists():
        assert ends(int(path.read_text()))


def test_one_that_is_not_there_is_told():
    assert hook_of("/no/such/program --quick").run({}).startswith("it cannot be started: ")


def test_words_are_split_as_by_a_shell_that_does_not_run():
    assert hook_of("notify --to 'the team' $HOME").command == (
        "notify",
        "--to",
        "the team",
        "$HOME",
    )
    for text in ("", "   ", "notify 'unended"):
        with pytest.raises(ValueError, match=r"."):
            hook_of(text)


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
