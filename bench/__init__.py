# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement and ours, measured side by side in one run. See README.md."""
