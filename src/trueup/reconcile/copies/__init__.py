# SPDX-License-Identifier: Apache-2.0
"""Copies: facts in a file, pseudonyms for names, and a ledger to rehearse a plan on."""
