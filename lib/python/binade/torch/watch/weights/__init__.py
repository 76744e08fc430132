# SPDX-License-Identifier: Apache-2.0
"""What becomes of the weights of a watched run: updates, states, layers that do not learn."""
