# SPDX-License-Identifier: Apache-2.0
"""PyTorch's matrix products as a GPU's Tensor Cores give them, and rounding inside of a model."""
