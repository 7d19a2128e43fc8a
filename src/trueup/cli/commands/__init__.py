# SPDX-License-Identifier: Apache-2.0
"""Commands: one file for each, runbooks too; they do not know each other."""
