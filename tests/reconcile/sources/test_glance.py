# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.clouds.answers import replayed
from trueup.reconcile.sources.errors import NotOne, Unreachable
from trueup.reconcile.sources.glance import read_image

ANSWERS = {
    "GET /v2/images/one": (200, {"id": "one", "hw_cpu_policy": "shared", "size": 7}),
    "GET /v2/images/none": (404, {}),
    "GET /v2/images?limit=2&name=none": (200, {"images": []}),
    "GET /v2/images/odd": (200, []),
}


def test_only_properties_with_text_are_kept():
    with replayed(ANSWERS) as adapter:
        assert read_image(adapter, "one") == {"id": "one", "hw_cpu_policy": "shared"}


def test_an_image_that_is_not_there_and_an_answer_that_is_none():
    with replayed(ANSWERS) as adapter:
        with pytest.raises(NotOne):
            read_image(adapter, "none")
        with pytest.raises(Unreachable):
            read_image(adapter, "odd")
