# SPDX-License-Identifier: Apache-2.0
"""The service's commands: trueup-manage and trueup-status.

What upstream's placement-manage and placement-status have is here under the same names, with the
same output and exit codes. `db detach` and `db fsck` are ours.
"""
