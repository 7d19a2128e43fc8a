# SPDX-License-Identifier: Apache-2.0
"""Rows, table by table: what a transaction reads, locks and writes."""
