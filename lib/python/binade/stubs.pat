# SPDX-License-Identifier: Apache-2.0
#
# What nanobind's writer of stubs leaves out of _binade.pyi.

binade._binade.__prefix__:
    __version__: str
