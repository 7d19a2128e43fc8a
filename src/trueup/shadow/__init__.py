# SPDX-License-Identifier: Apache-2.0
"""Asks two Placement services the same reads on one database, and compares what they answer."""
