# SPDX-License-Identifier: Apache-2.0
"""Nova, read from its databases or over its API; `contract` is what both readers offer."""
