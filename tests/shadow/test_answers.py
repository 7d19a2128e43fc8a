# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.shadow.answers import Answer, Difference, differences, is_same, is_same_choice


def ok(body, status=200):
    return Answer(status, body, 0.01)


def candidates(*names, summaries=None):
    requests = [{"allocations": {name: {"resources": {"VCPU": 1}}}} for name in names]
    known = {name: {"resources": {"VCPU": {"used": 0}}} for name in names}
    return ok({"allocation_requests": requests, "provider_summaries": summaries or known})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"traits": ["A", "B"]}, {"traits": ["B", "A"]}),
        ({"a": [{"x": [1, 2]}, {"x": [3]}]}, {"a": [{"x": [3]}, {"x": [2, 1]}]}),
        (
            {"errors": [{"status": 404, "code": "c", "detail": "one", "request_id": "1"}]},
            {"errors": [{"status": 404, "code": "c", "detail": "two", "request_id": "2"}]},
        ),
        ("", ""),
        (None, None),
    ],
)
def test_answers_with_the_same_meaning(one, other):
    assert is_same(ok(one), ok(other))
    assert differences(ok(one), ok(other)) == ()


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ({"generation": 1}, {"generation": 2}, "generation"),
        ({"a": {"b": {"used": 1}}}, {"a": {"b": {"used": 2}}}, "a/b/used"),
        ({"a": 1}, {}, "a"),
        ({"traits": ["A", "A"]}, {"traits": ["A"]}, "traits"),
        (
            {"errors": [{"status": 400, "code": "c"}]},
            {"errors": [{"status": 400, "code": "d"}]},
            "the list",
        ),
        ("x", {"a": 1}, "the body"),
        ({"used": 1}, {"used": "1"}, "used"),
    ],
)
def test_differences_are_named(one, other, where):
    assert not is_same(ok(one), ok(other))
    assert [place.where for place in differences(ok(one), ok(other))] == [where]


def test_a_status_is_told_before_the_body():
    found = differences(ok({"a": 1}), ok({"a": 2}, 404))
    assert found == (Difference("status", "200", "404"),)


def test_of_lists_it_is_told_what_only_one_has():
    [found] = differences(ok({"traits": ["A", "B"]}), ok({"traits": ["B", "C", "D"]}))
    assert found.upstream == '1 only here, such as "A"'
    assert found.trueup == '2 only here, such as "C"'


def test_a_large_difference_is_told_in_a_few_short_lines():
    one = ok({str(number): "x" * 10_000 for number in range(100)})
    found = differences(one, ok({}))
    assert len(found) == 5
    assert max(len(each.upstream) for each in found) < 300


def test_two_choices_of_the_same_candidates_are_as_good():
    whole = candidates("a", "b", "c")
    assert is_same_choice(candidates("a", "b"), candidates("b", "c"), whole)


@pytest.mark.parametrize(
    "other",
    [
        candidates("b"),
        candidates("b", "z"),
        candidates("a", "b", summaries={"a": {"resources": {"VCPU": {"used": 5}}}}),
        ok({}, 500),
    ],
)
def test_a_choice_of_something_else_is_not(other):
    assert not is_same_choice(candidates("a", "b"), other, candidates("a", "b", "c"))
