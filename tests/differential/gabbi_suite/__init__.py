# SPDX-License-Identifier: Apache-2.0
"""Upstream's own HTTP tests, from its installed wheel, against any implementation."""
