# SPDX-License-Identifier: Apache-2.0
"""Real database servers for tests: private, empty, gone afterwards."""
