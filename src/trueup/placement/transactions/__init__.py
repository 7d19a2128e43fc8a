# SPDX-License-Identifier: Apache-2.0
"""The writes of the API. Each function is one transaction: it gathers, decides, writes."""

from trueup.placement.transactions import (
    aggregates,
    allocations,
    inventories,
    providers,
    reshaper,
    resource_classes,
    traits,
)
