# SPDX-License-Identifier: Apache-2.0
"""Reports from the field: SQL that makes of the recorded cloud `healthy` what an operator had.

The head of each file says what was reported, and what is right.
"""

import re
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT
from sqlalchemy.engine import make_url

from tests.clouds import damage
from tests.clouds.cloud import RecordedCloud

FOLDER = Path(__file__).parent / "reports"
_SECTION = re.compile(r"^-- in the database of (\w+)$", re.MULTILINE)


def plant(cloud: RecordedCloud, name: str) -> None:
    """Make the report of this name come true; the compute services of the cloud report."""
    [path] = FOLDER.glob(f"{name}*.sql")
    report(cloud)
    _, *parts = _SECTION.split(path.read_text())
    urls = {"api": cloud.nova_api_url, "placement": cloud.placement_database_url}
    for database, statements in zip(parts[::2], parts[1::2], strict=True):
        _run({**cloud.cell_urls, **urls}[database], statements)


def report(cloud: RecordedCloud) -> None:
    """Let all compute services report for as long as tests run."""
    for cell in ("cell1", "cell2"):
        damage.change_cell(
            cloud,
            cell,
            "UPDATE services SET last_seen_up = '2100-01-01', updated_at = '2100-01-01'",
        )


def silence(cloud: RecordedCloud, cell: str, host: str) -> None:
    """The compute service of a host has not reported for a day."""
    past = "UTC_TIMESTAMP() - INTERVAL 1 DAY"
    damage.change_cell(
        cloud,
        cell,
        f"UPDATE services SET last_seen_up = {past}, updated_at = {past} WHERE host = '{host}'",
    )


def _run(url: str, statements: str) -> None:
    """Not through SQLAlchemy, which takes one statement at a time, without variables."""
    parts = make_url(url)
    connection = pymysql.connect(
        host=parts.host, port=parts.port or 3306, user=parts.username, password=parts.password,
        database=parts.database, client_flag=CLIENT.MULTI_STATEMENTS,
    )  # fmt: skip
    with connection, connection.cursor() as cursor:
        cursor.execute(statements)
        while cursor.nextset():
            pass
        connection.commit()
