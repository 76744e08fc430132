# SPDX-License-Identifier: Apache-2.0
"""What layers, ops and losses of a watched run give: Inf, NaN, zeros, and what these come of."""
