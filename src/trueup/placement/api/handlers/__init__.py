# SPDX-License-Identifier: Apache-2.0
"""One short function for each row of the table of routes."""
