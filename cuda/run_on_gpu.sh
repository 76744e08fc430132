#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The gpu suite on a bare GPU machine: nvcc, g++, Meson, ninja and Python, no network.
#   cuda/run_on_gpu.sh --pack     on a machine with the packages: puts the header-only ones into .deps/include
#   cuda/run_on_gpu.sh [FOLDER]   on the GPU machine, with .deps carried along: builds in build-gpu, runs the suite and
#                                 leaves log.txt and the results in FOLDER (default: $OUT, else build-gpu/results)
# Exit status: 0 all equal, 1 something failed, 77 no GPU.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."

# The header-only packages, by one header each.
headers=(fmt/format.h CLI/CLI.hpp nlohmann/json.hpp)

pack() {
  local header path
  rm -rf .deps/include; mkdir -p .deps/include
  for header in "${headers[@]}"; do
    path=$(echo "#include <$header>" | g++ -E -x c++ - | sed -n "s:^# 1 \"\(.*\)/$header\".*:\1:p" | sed 1q)
    cp -rL "$path/${header%%/*}" .deps/include/
  done
  du -sh .deps/include
}

# The architecture with its own instructions: 90a for compute capability 9.0.
architecture() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/[. ]//gp') || true
  [[ -n $capability ]] || capability=90
  ((capability < 90)) || capability+=a
  echo "$capability"
}

build() {
  export PATH=$PATH:/usr/local/cuda/bin CPLUS_INCLUDE_PATH=$PWD/.deps/include
  nvidia-smi || echo "no nvidia-smi"
  nvcc --version
  meson setup build-gpu $([[ ! -f build-gpu/build.ninja ]] || echo --reconfigure) -Dprogram=disabled -Dtests=disabled \
    -Dbenchmarks=disabled -Dcuda=enabled -Dgpu_archs="$(architecture)"
  ninja -C build-gpu
}

run() {
  local results=$1 status=0
  rm -f build-gpu/cuda/*.json
  meson test -C build-gpu --no-rebuild --suite gpu --verbose || status=1
  cp build-gpu/cuda/*.json build-gpu/meson-logs/testlog.json "$results"/
  grep -q '"returncode": 0' build-gpu/meson-logs/testlog.json || [[ $status == 1 ]] || status=77
  return $status
}

if [[ ${1:-} == --pack ]]; then
  pack
else
  results=${1:-${OUT:-build-gpu/results}}
  mkdir -p "$results"
  { build; run "$results"; } 2>&1 | tee "$results/log.txt"
fi
