# SPDX-License-Identifier: Apache-2.0
"""`trueup page`: a living ledger as web pages, to be read only."""
