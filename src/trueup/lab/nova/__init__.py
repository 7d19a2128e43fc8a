# SPDX-License-Identifier: Apache-2.0
"""Nova's side of the lab: its databases, with its own table and column names, on SQLite.

Only what a reconciler reads is here; no nova code runs in the lab.
"""
