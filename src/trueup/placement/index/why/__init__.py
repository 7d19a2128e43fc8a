# SPDX-License-Identifier: Apache-2.0
"""Why a search finds no candidates: which filter leaves out which hosts."""
