# SPDX-License-Identifier: Apache-2.0
"""A real `trueup apply` is killed at every system call that writes, and answered badly."""
