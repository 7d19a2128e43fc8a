# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind on every route: Trueup refuses it as upstream's service does."""
