# SPDX-License-Identifier: Apache-2.0
"""A snapshot of the ledger in arrays (`View`): how it is built, refreshed and checked."""
