# SPDX-License-Identifier: Apache-2.0
"""The words of the ledger: frozen values and pure rules. Nothing here does I/O or imports ours."""
