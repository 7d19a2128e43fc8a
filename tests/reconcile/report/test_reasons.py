# SPDX-License-Identifier: Apache-2.0
"""Every reason has one sentence, which says its values; programs get name and values."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import trueup
from trueup.reconcile.reasons import because, together
from trueup.reconcile.report.reasons import SENTENCES, in_words, reason_document

SOURCE = Path(trueup.__file__).parent
HELD = ({"provider": "u1", "name": "h1", "resources": {"VCPU": 1}},)


def calls() -> Iterator[ast.Call]:
    """Every call in the source that makes a reason."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "because(" in (text := path.read_text()):
            every = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            yield from (node for node in every if getattr(node.func, "id", "") == "because")


def names_in(call: ast.Call) -> set[str]:
    """The names that a call may give: one, or one of two."""
    given = call.args[0]
    either = (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,)
    return {ast.literal_eval(one) for one in either}


def test_every_reason_has_a_sentence_and_every_sentence_a_reason():
    assert {name for call in calls() for name in names_in(call)} == set(SENTENCES)


def test_a_sentence_says_only_what_its_reason_has():
    """A call that takes its values from a mapping is left to the scenarios."""
    for call in calls():
        given = {one.arg for one in call.keywords}
        for name in names_in(call):
            wanted = {field for _, field, _, _ in Formatter().parse(SENTENCES[name]) if field}
            assert None in given or wanted <= given | {"cause"}, name
            assert "cause" not in wanted or len(call.args) > 1, name


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (because("not-settled-now"), "it is no longer settled on a host, or holds nothing now"),
        (
            because("host-half-named", host=None, node="n"),
            "its row in Nova has host none and node n",
        ),
        (because("task-state", task=""), "its task state is an empty string"),
        (
            because("holds", because("claim-unknown"), holds=HELD),
            "holds VCPU=1 on h1; what it should hold is not known",
        ),
        (
            because("no-remedy-known", None, holds=(), should_hold=HELD),
            "holds nothing, should hold VCPU=1 on h1; no remedy is known",
        ),
        (
            because("alive-twice", cells=("c1",), hosts=("h1", "h2")),
            "it is alive in c1, on h1 and on h2",
        ),
        (because("changed-last", age=7200), "Nova changed it last 2 hours ago"),
        (
            because("domain-has-snapshots", snapshots=1, host="h1", domain="d"),
            "libvirt has 1 snapshot of it on h1: remove what libvirt knows of them with "
            "'virsh snapshot-delete --metadata d NAME'",
        ),
    ],
)
def test_values_are_written_as_people_read_them(reason, sentence):
    assert in_words(reason) == sentence
    assert in_words(None) == ""


def test_a_document_has_the_values_and_the_causes():
    cause = because("source-silent", source="cell1")
    assert reason_document(because("not-mapped", cause)) == {
        "name": "not-mapped",
        "fields": {},
        "causes": [{"name": "source-silent", "fields": {"source": "cell1"}, "causes": []}],
    }
    assert reason_document(None) is None


def test_reasons_together_are_one_with_each_cause_once():
    one, other = because("flavor-unreadable"), because("image-unreadable")
    assert together((None, one, one)) is one
    both = together((one, other, one))
    assert in_words(both) == "its flavor could not be read; its image properties could not be read"
    assert both.names == {"several", "flavor-unreadable", "image-unreadable"}
    assert together(()) is None
