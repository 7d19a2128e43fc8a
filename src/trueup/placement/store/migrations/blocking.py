# SPDX-License-Identifier: Apache-2.0
"""What stops an upgrade of the schema half way, with nothing lost."""


class RowsInTheWay(Exception):
    """Rows that a revision cannot live with; the online data migrations mend them."""

    def __str__(self) -> str:
        command = "placement-manage db online_data_migrations"
        return f'{super().__str__()} Run the "{command}" command.'
