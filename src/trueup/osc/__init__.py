# SPDX-License-Identifier: Apache-2.0
"""The plugin of OpenStackClient: `openstack trueup audit`, and the other commands of `trueup`."""
