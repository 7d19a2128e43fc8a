# SPDX-License-Identifier: Apache-2.0
"""Reads across tables: lists, usages, the export, and the rows that the index is built from."""
