# SPDX-License-Identifier: Apache-2.0
"""The commands. Thin: options in, one call each, a table out."""
