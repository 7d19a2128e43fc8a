# SPDX-License-Identifier: Apache-2.0
"""Changes nothing; continues only when every provider has a root (Train)."""

import sqlalchemy as sa
from alembic import op

from trueup.placement.store.migrations.blocking import RowsInTheWay

revision = "611cd6dffd7b"
down_revision = "b4ed3a175331"

_providers = sa.table("resource_providers", sa.column("root_provider_id"))


def upgrade() -> None:
    """Raises RowsInTheWay."""
    rootless = sa.exists().where(_providers.c.root_provider_id.is_(None))
    if op.get_bind().scalar(sa.select(rootless)):
        raise RowsInTheWay(
            "There is at least one resource provider table record which is missing its root "
            "provider id."
        )
