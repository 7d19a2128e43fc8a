# SPDX-License-Identifier: Apache-2.0
"""What Alembic runs: the revisions, over the connection it was handed."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
