# SPDX-License-Identifier: Apache-2.0
"""HTTP in, HTTP out. The only folder that knows microversions."""
