# SPDX-License-Identifier: Apache-2.0
"""What a training's numbers become: hooks, counts, findings, advice."""
