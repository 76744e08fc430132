# SPDX-License-Identifier: Apache-2.0
"""What a watched loop does: the order of its calls, its optimizers' settings, its loss scale."""
