# SPDX-License-Identifier: Apache-2.0
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.placement.client import UUID, Client
from tests.placement.metrics.conftest import PATH, samples
from tests.tree import REPOSITORY
from trueup.model.errors import ConcurrentUpdate
from trueup.placement.api.routes import EVERY_ROUTE
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.index.current import Index
from trueup.placement.metrics import files
from trueup.placement.metrics.prometheus import PrometheusMeter
from trueup.placement.store.engine.database import ChangedMeanwhile, in_transaction

CANDIDATES = "/allocation_candidates"


def test_answers_are_counted_by_template_and_status(metered: Client) -> None:
    metered.make_provider(1)
    for number in (1, 1, 2):
        metered.get(f"/resource_providers/{UUID(number)}")
    counts = {key[1:]: value for key, value in samples(metered).items() if "_count" in key[0]}
    assert counts["GET", "/resource_providers/{uuid}", "200"] == 2
    assert counts["GET", "/resource_providers/{uuid}", "404"] == 1
    assert counts["POST", "/resource_providers", "200"] == 1


def test_no_label_is_made_up_by_clients(metered: Client) -> None:
    before = set(samples(metered))
    for number in range(20):
        metered.get(f"/nowhere/{number}")
        metered.send(f"METHOD{number}", "/resource_providers")
        metered.get(f"/resource_providers/{UUID(number)}")
    new = {key for key in set(samples(metered)) - before if key[0] == "request_seconds_count"}
    labels = {key[1:] for key in new}
    assert labels == {
        ("GET", "other", "404"),
        ("other", "/resource_providers", "405"),
        ("GET", "/resource_providers/{uuid}", "404"),
        ("GET", PATH, "200"),
    }


def test_nothing_of_a_consumer_is_shown(metered: Client) -> None:
    metered.make_provider(1, inventories={"VCPU": 8})
    assert metered.claim(7, {1: {"VCPU": 1}}).status == 204
    metered.get(f"/allocations/{UUID(7)}")
    shown = metered.get(PATH, headers={}).text
    assert "/allocations/{consumer_uuid}" in shown
    assert UUID(7) not in shown
    assert UUID(1) not in shown


def test_statements_of_requests_are_counted(metered: Client) -> None:
    metered.get("/")
    metered.get("/resource_classes/VCPU")
    found = samples(metered)
    assert found["request_statements_total", "GET", "/resource_classes/{name}"] > 0
    assert found.get(("request_statements_total", "GET", "/"), 0) == 0
    assert found["database_connections",] > 0


def test_the_view_and_the_searches_are_counted(metered: Client) -> None:
    metered.make_provider(1, inventories={"VCPU": 8})
    metered.make_provider(2, inventories={"VCPU": 8})
    metered.get(f"{CANDIDATES}?resources=VCPU:1&limit=1")
    metered.get(f"{CANDIDATES}?resources=VCPU:9&limit=1")
    metered.make_provider(3)
    metered.get(f"{CANDIDATES}?resources=VCPU:1&limit=10")
    found = samples(metered)
    assert found["view_read_seconds_count", "load"] == 1
    assert found["view_read_seconds_count", "refresh"] == 1
    assert found["view_providers",] == 3
    assert found["view_skipped_rows",] == 0
    assert found["candidates_searches_total", "some"] == 2
    assert found["candidates_searches_total", "none"] == 1
    assert found["candidates_limited_total", "requested"] == 1


def test_the_limit_of_the_configuration_is_told_apart(
    serve: Callable[..., Client], empty_ledger: str, tmp_path: Path
) -> None:
    options = {"metrics_path": PATH, "metrics_folder": str(tmp_path)}
    client = serve(empty_ledger, trueup=options, placement={"max_allocation_candidates": 1})
    client.make_provider(1, inventories={"VCPU": 8})
    client.get(f"{CANDIDATES}?resources=VCPU:1&limit=5")
    assert samples(client)["candidates_limited_total", "configured"] == 1


def test_a_comparison_counts_the_writes_of_another_service(
    metered: Client, empty_ledger: str
) -> None:
    metered.make_provider(1, inventories={"VCPU": 8})
    seconds = [0.0]
    index = Index(metered.application.database, lambda: seconds[0])
    index.view()
    first = samples(metered)["view_compared_timestamp_seconds",]
    engine = create_engine(empty_ledger)
    with engine.begin() as connection:
        connection.execute(text("UPDATE resource_providers SET generation = generation + 1"))
    engine.dispose()
    # So late that the request waits for the comparison.
    seconds[0] = 60.0
    index.view()
    found = samples(metered)
    assert found["view_foreign_writes_total",] == 1
    assert found["view_read_seconds_count", "comparison"] >= 1
    assert found["view_compared_timestamp_seconds",] > first


def test_transactions_that_start_again_are_counted(metered: Client) -> None:
    attempts = []

    @in_transaction
    def collide_once(_tx):
        attempts.append(1)
        if len(attempts) == 1:
            raise ChangedMeanwhile

    @in_transaction
    def collide_always(_tx):
        raise ChangedMeanwhile

    collide_once(metered.application.database)
    with pytest.raises(ConcurrentUpdate):
        collide_always(metered.application.database)
    found = samples(metered)
    assert found["transaction_restarts_total", "changed"] > 1
    assert found["transactions_given_up_total",] == 1


def test_every_template_is_a_route_or_what_stands_beside_the_api(metered: Client) -> None:
    metered.get("/resource_providers")
    metered.get("/traits")
    routes = {route.url for route in EVERY_ROUTE}
    shown = {key[2] for key in samples(metered) if key[0] == "request_seconds_count"}
    assert shown <= routes


def test_every_name_of_the_examples_exists(tmp_path: Path) -> None:
    files.keep_values_in(tmp_path)
    meter = PrometheusMeter()
    meter.request_begins()
    meter.statement_sent()
    meter.request_answered("GET", "/", "200", 0.1)
    meter.connections_open(1, 5)
    meter.transaction_restarted("conflict")
    meter.transaction_given_up()
    meter.view_read("load", 0.1)
    meter.view_shows(1, 0)
    meter.foreign_writes_found()
    meter.view_damaged()
    meter.candidates_found(1, "requested")
    meter.candidates_lacking("capacity")
    text = files.scrape(tmp_path, "")[1].decode()
    known = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    used = {
        name
        for path in (REPOSITORY / "packaging/monitoring").glob("trueup-placement*")
        for name in re.findall(r"\btrueup_placement_\w+", path.read_text())
    }
    assert used <= known
    page = (REPOSITORY / "docs/service/monitoring.md").read_text()
    reported = set(re.findall(r"`(trueup_placement_\w+)", page))
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in known}
    assert reported == families


def test_metrics_are_off_by_default(client: Client) -> None:
    assert client.get(PATH).status == 404


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metrics_path": PATH}, "needs metrics_folder"),
        ({"metrics_folder": "/run/x"}, "needs metrics_path"),
        ({"metrics_path": "metrics", "metrics_folder": "/run/x"}, "write it as /metrics"),
        ({"metrics_path": "/", "metrics_folder": "/run/x"}, "write it as /metrics"),
        ({"metrics_path": "/traits", "metrics_folder": "/run/x"}, "which the API uses"),
        ({"metrics_path": "/healthcheck", "metrics_folder": "/run/x"}, "which the API uses"),
        ({"metrics_path": PATH, "metrics_folder": "/dev/null/x"}, "cannot be written"),
    ],
)
def test_invalid_options_are_refused(
    serve: Callable[..., Client], empty_ledger: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigurationUnusable, match=says):
        serve(empty_ledger, trueup=options)


def test_the_log_has_seconds_only_if_asked_for(
    serve: Callable[..., Client], empty_ledger: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "placement.requestlog")
    serve(empty_ledger).get("/")
    serve(empty_ledger, trueup={"log_request_time": True}).get("/")
    usual, timed = (
        record.getMessage() for record in caplog.records if record.name.endswith("requestlog")
    )
    text, _, seconds = timed.partition(" time: ")
    assert text == usual
    assert 0 < float(seconds) < 60
