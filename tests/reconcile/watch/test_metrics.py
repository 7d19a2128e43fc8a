# SPDX-License-Identifier: Apache-2.0
"""The metrics, read by Prometheus' own parser."""

from collections.abc import Mapping
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.reconcile.page.paging import NOT_COUNTED
from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import FITS, scene, seen_at
from trueup.reconcile.audit import Observation
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.watch.metrics import StatusMetrics

DOWN = ConnectionError("Placement does not answer")
Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def samples(
    path: Path, *rounds: Observation | Exception, fits: Placeables = NOT_COUNTED
) -> Samples:
    watcher = scene(rounds, path, count=lambda _: fits).watcher
    text = StatusMetrics(lambda: watcher.status).text().decode()
    families = text_string_to_metric_families(text)
    return {
        (one.name, frozenset(one.labels.items())): one.value for f in families for one in f.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[f"trueup_watch_{name}", frozenset(labels.items())]


def test_findings_by_defect_severity_and_whether_they_are_confirmed(tmp_path):
    found = samples(tmp_path / "x", seen_at(BROKEN, 0), seen_at(BROKEN, 5))
    labels = {"defect": "orphaned-allocation", "severity": "medium"}
    assert value(found, "findings", confirmed="yes", **labels) == 1
    assert value(found, "findings_by_severity", severity="high") == 2
    assert value(found, "findings_by_severity", severity="critical") == 0
    first = samples(tmp_path / "y", seen_at(BROKEN, 0))
    assert value(first, "findings", confirmed="no", **labels) == 1
    assert value(first, "oldest_finding_age_seconds") > 3600


def test_capacity_coverage_and_what_could_not_be_checked(tmp_path):
    text = f"{BROKEN}  server lost on h9\ncell2 silent\n"
    found = samples(tmp_path / "x", seen_at(text, 0))
    assert value(found, "unchecked_subjects") > 0
    assert value(found, "reasons", verdict="unchecked", reason="no-node") == 1
    assert value(found, "reasons", verdict="unchecked", reason="source-silent") > 0
    assert value(found, "source_state", source="cell2", state="silent") == 1
    assert value(found, "source_state", source="cell2", state="answered") == 0
    assert value(found, "source_state", source="cell1", state="answered") == 1
    whole = samples(tmp_path / "y", seen_at(BROKEN, 0))
    assert value(whole, "capacity", resource_class="VCPU", part="phantom") == 3
    assert value(whole, "capacity", resource_class="VCPU", part="missing") == 3
    assert value(whole, "capacity", resource_class="VCPU", part="capacity") == 16


def test_how_many_more_servers_fit(tmp_path):
    found = samples(tmp_path / "x", seen_at(BROKEN, 0), fits=FITS)
    assert value(found, "placeable", flavor="m1", zone="east") == 3
    assert value(found, "placeable", flavor="m1", zone="west") == 0
    assert value(found, "placeable_after_repair", flavor="m1", zone="east") == 5
    assert value(found, "host_failures", result="lost") == 1
    assert value(found, "placeable_counted") == 1


def test_what_is_not_counted_is_no_zero(tmp_path):
    found = samples(tmp_path / "x", seen_at(BROKEN, 0))
    assert value(found, "placeable_counted") == 0
    names = {name for name, _ in found}
    assert not names & {"trueup_watch_placeable", "trueup_watch_host_failures"}


def test_the_names_that_dashboards_use_already(tmp_path):
    found = samples(tmp_path / "x", seen_at(BROKEN, 0))
    labels = frozenset({("hostname", "h1"), ("resourcetype", "VCPU")})
    name = "openstack_placement_resource_"
    [stock] = [row for row in seen_at(BROKEN, 0).facts.providers.values() if row.name == "h1"]
    cpus, used = stock.inventories["VCPU"], seen_at(BROKEN, 0).facts.used[stock.uuid]["VCPU"]
    assert found[f"{name}total", labels] == cpus.total
    assert found[f"{name}reserved", labels] == cpus.reserved
    assert found[f"{name}allocation_ratio", labels] == cpus.allocation_ratio
    assert found[f"{name}usage", labels] == used > 0


def test_rounds_phases_and_the_last_success(tmp_path):
    found = samples(tmp_path / "x", seen_at(BROKEN, 0), DOWN)
    assert value(found, "rounds_total", result="complete") == 1
    assert value(found, "rounds_total", result="failed") == 1
    assert value(found, "last_success_timestamp_seconds") == 1795262400
    whole = samples(tmp_path / "y", seen_at(BROKEN, 0))
    assert value(whole, "phase_seconds", phase="observe") >= 0


def test_before_a_round_has_succeeded_nothing_looks_like_an_all_clear(tmp_path):
    found = samples(tmp_path / "x", DOWN)
    names = {name for name, _ in found}
    assert not names & {"trueup_watch_findings_by_severity", "trueup_watch_unchecked_subjects"}
    assert value(found, "rounds_total", result="failed") == 1


def test_what_came_back_counts_in_the_metric_and_is_on_the_page(tmp_path):
    gone = BROKEN.replace("holds old h1 VCPU=2 MEMORY_MB=256 DISK_GB=6\n", "")
    texts = (BROKEN, BROKEN, gone, BROKEN)
    rounds = [seen_at(text, minute) for minute, text in enumerate(texts)]
    found = samples(tmp_path / "x", *rounds)
    assert value(found, "returned_findings", defect="orphaned-allocation") == 1
    watcher = scene(rounds, tmp_path / "y").watcher
    assert "2 times in the last two weeks" in watcher.status.page.decode()
