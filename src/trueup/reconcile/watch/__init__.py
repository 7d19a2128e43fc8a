# SPDX-License-Identifier: Apache-2.0
"""Watch: audits in rounds, the findings they confirm, and how these are reported. Reads only."""
