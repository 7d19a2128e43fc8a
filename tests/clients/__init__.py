# SPDX-License-Identifier: Apache-2.0
"""The clients that operators have, at our service and at upstream's: they must print the same."""
