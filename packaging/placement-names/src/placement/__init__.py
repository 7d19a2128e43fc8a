# SPDX-License-Identifier: Apache-2.0
"""Upstream's names, and Trueup behind them. Nothing else is here."""
