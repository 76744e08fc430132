# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's own products are made of: the check of a model, its account, and what explains bits."""
