# SPDX-License-Identifier: Apache-2.0
"""What every command shows and asks on a terminal: options, tables, progress."""
