# SPDX-License-Identifier: Apache-2.0
"""Releases of upstream's Placement, each from its package in an environment of its own."""
