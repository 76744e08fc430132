#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# aarch64.sh [TEST PROGRAM…]: builds binade and test programs for AArch64 in build-aarch64/ and runs the tests under QEMU. It
# needs Debian with the packages g++-aarch64-linux-gnu and qemu-user. AArch64's libraries are unpacked in the build folder, by a
# package manager with lists of its own: no right is needed, and nothing of this machine's changes.

set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.."
export PATH=/usr/bin:/bin:$PATH LC_ALL=C.UTF-8
folder=$PWD/build-aarch64 root=$PWD/build-aarch64/root
(($#)) || set -- emulate_program kernels_program lib_range_program lib_gemm_program
packages=(zlib1g-dev libre2-dev libgmp-dev libmpfr-dev libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev doctest-dev libboost1.74-dev)

for program in aarch64-linux-gnu-g++ qemu-aarch64 dpkg-deb; do
  type -P "$program" >/dev/null || { echo "no $program: apt-get install g++-aarch64-linux-gnu qemu-user" >&2; exit 2; }
done

if [[ ! -d $root ]]; then
  lists=$folder/apt
  mkdir -p "$lists"/{lists,archives}/partial
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=
    -o Dir::State="$lists" -o Dir::State::status=/dev/null -o Dir::Cache="$lists")
  "${apt[@]}" update
  (cd "$lists" && "${apt[@]}" download "${packages[@]}")
  for package in "$lists"/*.deb; do dpkg-deb -x "$package" "$root.part"; done
  mv "$root.part" "$root"
fi
printf '[constants]\nroot = '\''%s'\''\n' "$root" >"$folder/root.ini"
[[ -f $folder/build.ninja ]] ||
  meson setup "$folder" --cross-file tests/cross/aarch64.ini --cross-file "$folder/root.ini" >"$folder/setup.log"
ninja -C "$folder" binade "${@/#/tests/}"
for program in "$@"; do
  echo "$program"
  options=()
  # This case starts the program once more, which the system cannot without QEMU's help.
  [[ $program != lib_gemm_program ]] || options=(--test-case-exclude='the number of threads changes no byte')
  qemu-aarch64 "$folder/tests/$program" "${options[@]}"
done
