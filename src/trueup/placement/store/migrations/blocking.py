# SPDX-License-Identifier: Apache-2.0
"""The error that stops an upgrade of the schema before a revision."""


class RowsInTheWay(Exception):
    """Rows that prevent a revision; the online data migrations repair them."""

    def __str__(self) -> str:
        command = "placement-manage db online_data_migrations"
        return f'{super().__str__()} Run the "{command}" command.'
