# SPDX-License-Identifier: Apache-2.0
"""A small cloud whose instance `web` may have ports, and a card with bandwidth for them.

The first pair of braces is for lines about ports and providers, the second for more allocations.
"""

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider nic of h1 NET_BW=1000
{}
holds web h1 VCPU=2 MEMORY_MB=256
{}
"""
# What web holds of h1 itself.
OWN = {"VCPU": 2, "MEMORY_MB": 256}
