# SPDX-License-Identifier: Apache-2.0
"""Copies: facts in a file, without names, and a ledger that a plan can be rehearsed on."""
