# SPDX-License-Identifier: Apache-2.0
"""The types of the ledger: frozen values and pure rules, without I/O."""
