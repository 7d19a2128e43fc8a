# SPDX-License-Identifier: Apache-2.0
"""Watch: audits in rounds, what they have in common, and how it is told. Reads only."""
