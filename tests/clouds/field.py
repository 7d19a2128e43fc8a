# SPDX-License-Identifier: Apache-2.0
"""Reports of operators as SQL over recorded clouds; the head of each file says what is right."""

import re
from collections.abc import Iterable
from pathlib import Path

from tests.clouds.cloud import RecordedCloud
from tests.clouds.damage import execute
from tests.clouds.loading import send
from tests.servers.domains import node_of

FIELD = Path(__file__).parent / "field"
_REPORTING = (
    "UPDATE services SET updated_at = UTC_TIMESTAMP(), last_seen_up = UTC_TIMESTAMP() "
    "WHERE services.binary = 'nova-compute' AND forced_down = 0"
)


def reported(cloud: RecordedCloud, number: str) -> None:
    """Bring the report with this number about; the compute services of the cloud report."""
    if not cloud.own_cells:
        raise ValueError("other tests read these cells: ask for recorded_cloud(…, own_cells=True)")
    for url in cloud.cell_urls.values():
        execute(url, _REPORTING)
    run_report(cloud, number)


def run_report(cloud: RecordedCloud, number: str) -> None:
    """Run the statements of the report with this number, each part in the database it names."""
    [path] = FIELD.glob(f"{number}-*.sql")
    parts = re.split(r"^-- in the database of (\w+)$", path.read_text(), flags=re.MULTILINE)
    urls = {"api": cloud.nova_api_url, "placement": cloud.placement_database_url}
    urls |= cloud.cell_urls
    for database, statements in zip(parts[1::2], parts[2::2], strict=True):
        send(statements, urls[database])


def hypervisors(folder: Path, guests: dict[str, Iterable[str]]) -> str:
    """The address of hypervisors, as `--libvirt` takes it, that run these guests and no others."""
    for host, uuids in guests.items():
        (folder / f"{host}.xml").write_text(node_of(uuids))
    return f"test://{folder}/{{host}}.xml"
