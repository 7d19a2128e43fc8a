# SPDX-License-Identifier: Apache-2.0
"""The section [trueup] of tempest.conf."""

from oslo_config import cfg
from tempest import config

from trueup_tempest_plugin.ledger import Auditor

GROUP = cfg.OptGroup("trueup", title="Audits of Placement's ledger by Trueup")
OPTIONS = [
    cfg.BoolOpt(
        "audit_classes",
        default=True,
        help="Audit the ledger after each class of tests, and fail the class after which it is "
        "wrong.",
    ),
    cfg.StrOpt(
        "command",
        default="trueup",
        help="The program: a name on the PATH, or a path, as /opt/trueup/bin/trueup. It has to "
        "run where Nova's databases can be reached.",
    ),
    cfg.StrOpt(
        "nova_conf",
        help="The nova.conf of a controller (default: that of the program, /etc/nova/nova.conf).",
    ),
    cfg.IntOpt(
        "settle_seconds",
        default=60,
        min=0,
        help="How long something has to be wrong before a class fails. Nova goes on for a while "
        "after a test has ended, and other workers have tests under way.",
    ),
]


def auditor() -> Auditor:
    """As the section says."""
    own = config.CONF.trueup
    return Auditor(own.command, own.nova_conf, own.settle_seconds)
