# SPDX-License-Identifier: Apache-2.0
"""Changes nothing; continues only when every allocation has a consumer (Train)."""

import sqlalchemy as sa
from alembic import op

from trueup.placement.store.migrations.blocking import RowsInTheWay

revision = "b5c396305c25"
down_revision = "611cd6dffd7b"

_allocations = sa.table("allocations", sa.column("consumer_id"))
_consumers = sa.table("consumers", sa.column("uuid"))


def upgrade() -> None:
    """Raises RowsInTheWay."""
    known = sa.exists().where(_consumers.c.uuid == _allocations.c.consumer_id)
    ownerless = sa.select(_allocations.c.consumer_id).where(~known).limit(1)
    if op.get_bind().execute(ownerless).first() is not None:
        raise RowsInTheWay(
            "There is at least one allocation record which is missing a consumer record."
        )
