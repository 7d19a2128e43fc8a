# SPDX-License-Identifier: Apache-2.0
"""The table of errors in the documentation: a real server raises every one of them.

`test_database_errors.py` provokes what can be provoked. A broken disk (58030), MySQL's own errors
(3024) and some more cannot; here a trigger raises each error of the table in the middle of a claim.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.deployment.sites import Site, check_unavailable, write
from tests.servers.placement import REPOSITORY

COLUMNS = {"mariadb": 1, "postgresql": 2}
# A session that was lost is replaced, and the transaction starts again; a lock is tried for again.
TRIED_AGAIN = ("a lock was not free in time",)
WRITTEN = {
    "mariadb": {"1021", "1180", "1226", "1290", "1317", "1969", "3024"},
    "postgresql": {"25006", "53100", "53200", "57014", "58030"},
}
"""Some that the table must have, so that a table that is read wrongly does not pass."""
WHOLE_CLASSES = {
    "08": ("08000", "08001", "08003", "08004", "08006", "08007", "08P01"),
    "53": ("53000", "53100", "53200", "53300", "53400"),
}


def rows() -> list[list[str]]:
    text = (REPOSITORY / "docs" / "service" / "configuration.md").read_text()
    table = text[text.index("| what the server says |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def codes(kind: str) -> Iterator[str]:
    """What a server of this kind can say; 2000 to 2999 are the errors of MariaDB's clients."""
    for row in rows()[2:]:
        cell = re.sub(r"2002 to 2055", "", row[COLUMNS[kind]])
        cell = cell.replace("57P01 to 57P05", "57P01, 57P02, 57P03, 57P05")
        if row[0] not in TRIED_AGAIN:
            for code in re.findall(r"\w+", cell):
                yield from WHOLE_CLASSES.get(code, (code,))


@contextmanager
def raised(site: Site, code: str) -> Iterator[None]:
    """Every claim of a new consumer fails with this error."""
    if site.kind == "mariadb":
        fault = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'SELECT 1'"
        begin = [f"CREATE TRIGGER fault BEFORE INSERT ON consumers FOR EACH ROW {fault}"]
        end = ["DROP TRIGGER fault"]
    else:
        fault = f"RAISE EXCEPTION 'SELECT 1' USING ERRCODE = '{code}'"
        begin = [
            f"CREATE FUNCTION fault() RETURNS trigger AS 'BEGIN {doubled(fault)}; END' "
            "LANGUAGE plpgsql",
            "CREATE TRIGGER fault BEFORE INSERT ON consumers EXECUTE FUNCTION fault()",
        ]
        end = ["DROP FUNCTION fault CASCADE"]
    execute(site, begin)
    try:
        yield
    finally:
        execute(site, end)


def doubled(text: str) -> str:
    return text.replace("'", "''")


def execute(site: Site, statements: list[str]) -> None:
    """As an administrator, in the database of the site."""
    url = site.server.url.set(database=site.database)
    with sqlalchemy.create_engine(url, poolclass=NullPool).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_every_error_of_the_table(make_site: Callable[..., Site], kind: str) -> None:
    site = make_site(kind)
    listed = list(codes(kind))
    assert set(listed) >= WRITTEN[kind]
    for code in listed:
        with raised(site, code):
            reply = write(site.client)
            assert reply.status == 503, (code, reply)
            check_unavailable(reply)
    assert write(site.client).status == 204
