# SPDX-License-Identifier: Apache-2.0
"""Which op gives other bits than it should: a row in several batches, two implementations."""
