# SPDX-License-Identifier: Apache-2.0
"""The columns. A derived picture of the ledger that answers candidates."""
