# SPDX-License-Identifier: Apache-2.0
"""A Tempest plugin: it fails a run after which Placement's ledger is not what it was before."""
