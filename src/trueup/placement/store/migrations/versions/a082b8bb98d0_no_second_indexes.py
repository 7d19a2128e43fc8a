# SPDX-License-Identifier: Apache-2.0
"""Drops indexes that duplicate a unique constraint (Antelope)."""

from trueup.placement.store.migrations.resuming import drop_index

revision = "a082b8bb98d0"
down_revision = "422ece571366"


def upgrade() -> None:
    """Drop them."""
    for table, index in (
        ("inventories", "inventories_resource_provider_id_idx"),
        ("inventories", "inventories_resource_provider_resource_class_idx"),
        ("placement_aggregates", "ix_placement_aggregates_uuid"),
        ("resource_providers", "resource_providers_name_idx"),
        ("resource_providers", "resource_providers_uuid_idx"),
    ):
        drop_index(index, table)
