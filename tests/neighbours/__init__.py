# SPDX-License-Identifier: Apache-2.0
"""Blazar, Cyborg and Watcher, from their packages, on one ledger with Nova and Trueup.

What asks Placement is their own code, run in an environment of theirs: `make neighbours`.
"""
