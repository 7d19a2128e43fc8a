# SPDX-License-Identifier: Apache-2.0
"""The service's commands: trueup-manage and trueup-status.

The commands of upstream's placement-manage and placement-status have the same names, output and
exit codes. `db detach`, `db fsck` and `index verify` are Trueup's own.
"""
