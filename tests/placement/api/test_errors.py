# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from trueup.model import errors as model
from trueup.placement.api.errors import (
    CONCURRENT_UPDATE,
    ErrorContext,
    Refused,
    document,
    page,
    plain_text,
    refusal_of,
)
from trueup.placement.api.versions import V

SAMPLES: dict[str, Any] = {
    "str": "a-name",
    "int": 1,
    "int | None": 2,
    "tuple[str, ...]": ("one", "two"),
    "bool": True,
}


def all_errors() -> list[type[model.PlacementError]]:
    kinds = [model.PlacementError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return kinds[1:]


def sample_of(kind: type[model.PlacementError]) -> model.PlacementError:
    given = {name: SAMPLES[_spelled(kind)] for name, kind in kind.__annotations__.items()}
    for parent in kind.__mro__:
        for name, annotation in getattr(parent, "__annotations__", {}).items():
            given.setdefault(name, SAMPLES[_spelled(annotation)])
    return kind(**given)


def _spelled(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_words(kind: type[model.PlacementError]) -> None:
    refused = refusal_of(sample_of(kind), "a_handler", {"uuid": "u", "resource_class": "c"})
    assert 400 <= refused.status < 500
    assert "{" not in refused.detail


def test_the_text_of_an_error_depends_on_its_cause() -> None:
    error, arguments = model.ResourceClassNotFound("GOLD"), {"uuid": "u"}
    assert refusal_of(error, "get_resource_class", arguments).status == 404
    assert refusal_of(error, "put_inventories", arguments).detail == (
        "Unknown resource class in inventory for resource provider u: No such resource class GOLD."
    )


def test_a_consumer_that_does_not_exist_has_a_null_generation() -> None:
    refused = refusal_of(model.StaleConsumer("c", None, 3), "put_allocations", {})
    assert refused.detail == "consumer generation conflict - expected null but got 3"
    assert refused.code == CONCURRENT_UPDATE


def context(version: V | None, accept: str = "application/json") -> ErrorContext:
    return ErrorContext("GET", accept, "None", "req-1", version)


def test_error_codes_are_sent_since_their_microversion() -> None:
    refused = Refused(409, "too late", CONCURRENT_UPDATE)
    (late,) = document(refused, context(V.ERROR_CODES))["errors"]
    assert late["code"] == CONCURRENT_UPDATE
    assert late["request_id"] == "req-1"
    assert late["detail"].endswith("\n\n too late  ")
    (early,) = document(refused, context(V.FORBIDDEN_TRAITS))["errors"]
    assert "code" not in early


def test_the_refusal_of_an_unknown_microversion_names_the_known_ones() -> None:
    (error,) = document(Refused(406, "no"), context(None))["errors"]
    assert (error["min_version"], error["max_version"]) == ("1.0", "1.39")


def test_markup_in_requests_is_escaped_in_answers() -> None:
    refused = Refused(400, "<script>")
    assert "<script>" not in page(refused, context(V.INITIAL, "text/html"))
    assert plain_text(refused, context(V.INITIAL, "text/plain")).startswith("400 Bad Request\n\n")
