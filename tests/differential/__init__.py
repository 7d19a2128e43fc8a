# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement and ours, asked the same."""
