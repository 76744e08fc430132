# SPDX-License-Identifier: Apache-2.0
#
# What nanobind's writer of stubs leaves out of _binade.pyi, or writes otherwise than it is wanted.

binade._binade.__prefix__:
    __version__: str

# Those that are equal by value and may change have no hash, which a type checker takes for a mistake.
binade._binade.(Counts|LossScaler|RangeSummary|_UpdateCounts).__hash__:
    __hash__: None  # type: ignore[assignment]
