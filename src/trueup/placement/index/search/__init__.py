# SPDX-License-Identifier: Apache-2.0
"""The search for allocation candidates in one view. It reads the view and never changes it."""
