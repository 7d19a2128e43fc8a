# SPDX-License-Identifier: Apache-2.0
"""Page: an observation and the journals → one page for people, as a frozen value, then as HTML."""
