# SPDX-License-Identifier: Apache-2.0
"""Rules: what defects share about instances, claims, hosts and the ledger. Pure."""
