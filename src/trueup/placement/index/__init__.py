# SPDX-License-Identifier: Apache-2.0
"""The index: the ledger as columns in memory, in which allocation candidates are searched."""
