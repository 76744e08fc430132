# SPDX-License-Identifier: Apache-2.0
"""Every framework's loss scales, in place of GradScaler."""
