# SPDX-License-Identifier: Apache-2.0
"""Alembic's entry point: runs the revisions over the connection that it was given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
