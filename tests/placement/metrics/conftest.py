# SPDX-License-Identifier: Apache-2.0
"""A service with metrics, and the values of its metrics."""

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import parser, values

from tests.placement.client import Client

PATH = "/metrics"


@pytest.fixture(autouse=True)
def _library_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has one folder of metrics: the tests after these must not write into ours."""
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")


@pytest.fixture
def metered(serve: Callable[..., Client], empty_ledger: str, tmp_path: Path) -> Client:
    return serve(
        empty_ledger, trueup={"metrics_path": PATH, "metrics_folder": str(tmp_path / "metrics")}
    )


def read(text: str) -> dict[tuple[str, ...], float]:
    """The samples, by name and the values of the labels in the order of the labels' names."""
    return {
        (
            sample.name.removeprefix("trueup_placement_"),
            *(v for _, v in sorted(sample.labels.items())),
        ): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def samples(client: Client) -> dict[tuple[str, ...], float]:
    reply = client.get(PATH, headers={}, version=None)
    assert reply.status == 200
    return read(reply.text)
