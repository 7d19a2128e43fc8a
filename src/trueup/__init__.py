# SPDX-License-Identifier: Apache-2.0
"""Trueup keeps the ledger of an OpenStack cloud true."""
