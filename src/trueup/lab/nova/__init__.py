# SPDX-License-Identifier: Apache-2.0
"""The lab's Nova: SQLite databases with Nova's table and column names.

They have only the tables and columns that reconcile reads. No code of Nova runs in the lab.
"""
