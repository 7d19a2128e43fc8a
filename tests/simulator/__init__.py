# SPDX-License-Identifier: Apache-2.0
"""A simulator of a cloud that knows the truth, and what must hold in each of its histories."""
