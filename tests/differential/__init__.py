# SPDX-License-Identifier: Apache-2.0
"""Sends the same requests to upstream's Placement and to Trueup's, and compares the answers."""
