# SPDX-License-Identifier: Apache-2.0
"""Placement: reading its ledger in three ways, and writing allocations over its API."""
