# SPDX-License-Identifier: Apache-2.0
"""Measure reading a whole ledger over HTTP, from upstream's service and from Trueup's.

    python -m bench.ledgers --hosts 1000

Over the API it takes three requests for each provider, eight at a time. The service is the limit:
for each request, upstream's takes 9 ms of processor time and Trueup's 2 ms; the client takes 2 ms.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from keystoneauth1 import adapter, session, token_endpoint

from bench import cloud, meter
from bench.loading import load
from bench.services import Database, Plan, Service, running_database, running_service
from bench.terminal import say
from trueup.reconcile.sources.placement.client import Placement


class _ByApi(Placement):
    """A Placement client that does not use the export."""

    def _export(self) -> None:
        return None


_WAYS: tuple[tuple[str, type[Placement]], ...] = (
    ("upstream", Placement),
    ("trueup", _ByApi),
    ("trueup", Placement),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the ledger once, and read it in each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    hosts = parser.parse_args(arguments).hosts
    with running_database("mariadb") as database:
        url = database.new_url("ledger")
        load(url, cloud.draw("flat", hosts))
        for application, client in _WAYS:
            with running_service(Plan(application, application), url) as service:
                say(_measured(service, database, client))
    return 0


def _measured(service: Service, database: Database, client: type[Placement]) -> str:
    token = token_endpoint.Token(f"http://127.0.0.1:{service.port}", "admin")
    placement = client(adapter.Adapter(session.Session(auth=token), service_type="placement"))

    def used() -> tuple[float, ...]:
        served = meter.seconds_used(service.process), database.seconds_used()
        return time.monotonic(), time.process_time(), *served

    before = used()
    ledger = placement.ledger(lambda done, total: None)
    clock, ours, served, stored = (after - then for after, then in zip(used(), before, strict=True))
    return (
        f"{service.label} ({ledger.read_via}), {len(ledger.providers)} providers, "
        f"{len(ledger.consumers)} consumers: {clock:.1f} s; processor: {ours:.1f} s of this "
        f"process, {served:.1f} s of the service, {stored:.1f} s of the database"
    )


if __name__ == "__main__":
    sys.exit(main())
