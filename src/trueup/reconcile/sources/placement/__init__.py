# SPDX-License-Identifier: Apache-2.0
"""Placement: reads the ledger in three ways, and writes allocations over its API."""
