# SPDX-License-Identifier: Apache-2.0
"""`trueup page`: a live ledger as read-only web pages."""
