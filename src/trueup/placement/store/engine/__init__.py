# SPDX-License-Identifier: Apache-2.0
"""The engine: connections, transactions, and what each transaction says it changed."""
