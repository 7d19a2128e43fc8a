# SPDX-License-Identifier: Apache-2.0
"""Converts JSON and query strings to the model and back, at every microversion."""
