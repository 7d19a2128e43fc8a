# SPDX-License-Identifier: Apache-2.0
"""Sends the same reads to two Placement services on one database, and compares the answers."""
