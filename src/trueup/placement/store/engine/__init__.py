# SPDX-License-Identifier: Apache-2.0
"""The engine: connections, transactions, and the changes that each transaction publishes."""
