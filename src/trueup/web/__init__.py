# SPDX-License-Identifier: Apache-2.0
"""What both halves make pages with: templates, one style, and a small server for reading."""
