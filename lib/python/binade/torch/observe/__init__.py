# SPDX-License-Identifier: Apache-2.0
"""PyTorch as it runs: tensors where they lie and their bits, names of modules, ops in order, the hooks of a loop."""
