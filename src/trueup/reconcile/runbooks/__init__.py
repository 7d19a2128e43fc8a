# SPDX-License-Identifier: Apache-2.0
"""Runbooks: what operators do by hand, as plans. Pure: observations in, tables and steps out."""
