# SPDX-License-Identifier: Apache-2.0
"""A mechanism driver for Neutron that binds every port at once, with no agent.

It also answers for ports with an allocation, and allows rules of minimum bandwidth and packet rate,
so that Nova claims both for such ports. Only Neutron loads this module: `install` makes it known.
"""

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.db import constants as database_constants
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.qos import base
from neutron_lib.services.qos import constants as qos_constants

NETWORK_CARDS = [portbindings.VNIC_NORMAL, portbindings.VNIC_DIRECT]
ANY_NUMBER = {"type:range": [0, database_constants.DB_INTEGER_MAX_VALUE]}
RULES = {
    qos_constants.RULE_TYPE_MINIMUM_BANDWIDTH: {
        qos_constants.MIN_KBPS: ANY_NUMBER,
        qos_constants.DIRECTION: {"type:values": constants.VALID_DIRECTIONS},
    },
    qos_constants.RULE_TYPE_MINIMUM_PACKET_RATE: {
        qos_constants.MIN_KPPS: ANY_NUMBER,
        qos_constants.DIRECTION: {"type:values": [constants.ANY_DIRECTION]},
    },
}


class GuaranteeRules(base.DriverBase):
    def __init__(self):
        super().__init__(
            name="agentless",
            vif_types=[portbindings.VIF_TYPE_OVS],
            vnic_types=NETWORK_CARDS,
            supported_rules=RULES,
            requires_rpc_notifications=False,
        )


class AgentlessDriver(api.MechanismDriver):
    def initialize(self):
        self.rules = GuaranteeRules()

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    @property
    def resource_provider_uuid5_namespace(self):
        return None

    def responsible_for_ports_allocation(self, context):
        return "allocation" in context.current[portbindings.PROFILE]

    def bind_port(self, context):
        if context.current[portbindings.VNIC_TYPE] in NETWORK_CARDS and context.segments_to_bind:
            context.set_binding(
                context.segments_to_bind[0][api.ID],
                portbindings.VIF_TYPE_OVS,
                {portbindings.CAP_PORT_FILTER: True},
                status=constants.PORT_STATUS_ACTIVE,
            )
