#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Does all work that needs a GPU on a machine that has only nvcc, g++, Meson, ninja and Python, and no network.
#   cuda/run_on_gpu.sh --pack               copies packages to .deps, on a machine that has them: header-only ones to
#                                           .deps/include, nanobind to .deps/python
#   cuda/run_on_gpu.sh [FOLDER]             does the work on the GPU machine, to which .deps was copied with the sources
#   cuda/run_on_gpu.sh --emulated [FOLDER]  tries the script without a GPU: compares the emulator with itself on few cases
#   cuda/run_on_gpu.sh --torch [--emulated] [FOLDER]  checks, on a machine with PyTorch, which of PyTorch's products are
#                                           explained bit for bit
# It builds in build-gpu, checks every instruction, records results and measures rates, and writes log.txt,
# recordings.tar.gz and sass.txt.gz to FOLDER (default: $OUT, else build-gpu/results). With --torch it builds in
# build-torch, for the Python that BINADE_PYTHON names (default: python3), and writes log.txt, recordings.tar.gz and an
# .html and a .json for each of three programs; nvcc is not needed for that. A stage that fails does not end the script,
# and all of it ends within BINADE_SECONDS (default: 570).
# Exit status: 0 if all results are equal, 1 if something differed or failed, 77 if there is no GPU.
set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2

# One header of each header-only package.
headers=(fmt/format.h CLI/CLI.hpp nlohmann/json.hpp eigen3/Eigen/Core)

pack() {
  local header path
  rm -rf .deps/include; mkdir -p .deps/include
  for header in "${headers[@]}"; do
    path=$(echo "#include <$header>" | g++ -E -x c++ - | sed -n "s:^# 1 \"\(.*\)/$header\".*:\1:p" | sed 1q)
    [[ -n $path ]] || { echo "there is no $header on this machine; ./dev setup installs it" >&2; exit 2; }
    cp -rL "$path/${header%/*}" .deps/include/
  done
  path=$(for python in python3 .venv/bin/python; do
    "$python" -c 'import nanobind; print(*nanobind.__path__)' 2>/dev/null
  done | sed 1q)
  [[ -n $path ]] || { echo "there is no nanobind on this machine; ./dev setup installs it" >&2; exit 2; }
  rm -rf .deps/python; mkdir -p .deps/python
  cp -rL "$path" .deps/python/
  du -sh .deps/include .deps/python
}

# architecture: prints the architecture of this machine's GPU, as --emulated takes it, or sm_90 if there is none.
architecture() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/[. ]//gp') || true
  echo "sm_${capability:-90}"
}

build() {
  nvidia-smi || echo "no nvidia-smi"
  nvcc --version | tail -2
  meson setup build-gpu $([[ ! -f build-gpu/build.ninja ]] || echo --reconfigure) -Dtests=disabled \
    -Dbenchmarks=disabled -Dnpz=disabled -Dre2=disabled -Dcuda=enabled && ninja -C build-gpu binade binade_cuda.so
}

# limited SECONDS COMMAND...: runs a command or a function of this script, and ends it and all that it started after so many
# seconds. The exit status is that of the command, or 124 if its time was over.
limited() {
  local limit=$1 job clock status=0
  shift
  [[ $(type -t "$1") == function ]] || { timeout "$limit" "$@"; return; }
  set -m
  "$@" & job=$!
  { sleep "$limit"; kill -- -"$job"; } 2>/dev/null & clock=$!
  set +m
  wait "$job" || status=$?
  kill -- -"$clock" 2>/dev/null
  return $((status == 143 ? 124 : status))
}

# stage NAME LIMIT COMMAND...: runs a command for LIMIT seconds at most, or what is left of the time, prints how it ended,
# and keeps the worst result in `worst`, which becomes the exit status.
worst=77
stage() {
  local name=$1 limit=$2 left=$((deadline - SECONDS)) begun=$SECONDS status=0
  shift 2
  printf '\n=== %s: %s\n' "$name" "$*"
  if ((left < 5)); then
    status=124
  else
    limited "$((left < limit ? left : limit))" "$@" || status=$?
  fi
  printf '=== %s: status %d after %d s, %d s in all\n' "$name" "$status" "$((SECONDS - begun))" "$SECONDS"
  case $status in
    0) ((worst != 77)) || worst=0 ;;
    77) ;;
    *) worst=1 ;;
  esac
  return $status
}

# machine_code: writes how often each machine instruction occurs in each kernel to sass.txt.gz.
machine_code() {
  cuobjdump -sass build-gpu/binade_cuda.so | awk '
    /Function : / { kernel = $3 }
    $1 ~ /^\/\*[0-9a-f]+\*\/$/ { op = $2 ~ /^@/ ? $3 : $2; sub(/;$/, "", op); count[kernel " " op]++ }
    END { for (key in count) print key, count[key] }' | sort | gzip -9 >"$results/sass.txt.gz"
}

# settle: prints which rule this GPU follows where no earlier recording had decided it, from build-gpu/recordings/open.
settle() {
  [[ ! -d build-gpu/recordings/open/dots ]] || build-gpu/binade validate --replay build-gpu/recordings/open --show 1 --evidence
}

# bulk: compares, byte for byte, the files that commands write with --device and without it.
bulk() {
  local data=experiments/data/digits_gradients.safetensors folder=build-gpu/bulk status=0 name words
  local product="gemm $data:early/fc2.activation.grad $data:early/fc2.weight.grad --round --instruction"
  rm -rf $folder; mkdir -p $folder || return 1
  while read -r name words; do
    if $binade $words $folder/$name && $binade $words $folder/device_$name --device "${device[@]}" &&
      cmp $folder/$name $folder/device_$name; then
      echo "$name: equal"
    else
      echo "$name: different or failed"; status=1
    fi
  done <<END
nearest.safetensors quantize --format binary16 $data
stochastic.safetensors quantize --format e4m3 --rounding stochastic --saturation finite $data
report.json report $data -q --sqnr-scale 8 --json
f16.npy $product mma.m16n8k16.f32.f16.f16.f32 --arch $(architecture) -o
bf16.npy $product mma.m16n8k16.f32.bf16.bf16.f32 --arch $(architecture) -o
tf32.npy $product mma.m16n8k8.f32.tf32.tf32.f32 --arch $(architecture) --alpha 3 --out-format f16 -o
wmma.npy $product wmma.m16n16k16.f32.bf16.bf16.f32 --arch $(architecture) -o
volta.npy $product wmma.m16n16k16.f16.f16.f16.f32 --arch sm_70 -o
fp8.npy $product mma.m16n8k32.f32.e5m2.e5m2.f32 --arch sm_89 -o
chain.npy $product fma.rn.f32.bf16.bf16.f32 -o
END
  return $status
}

# pack_recordings BUILD: packs the folder recordings of a build folder into recordings.tar.gz.
pack_recordings() {
  rm -f "$results/recordings.tar.gz"
  tar -czf "$results/recordings.tar.gz" -C "$1" recordings && ls -l "$results/recordings.tar.gz"
}

build_module() {
  nvidia-smi || echo "no nvidia-smi"
  mkdir -p build-torch
  printf "[binaries]\npython = '%s'\n" "$(type -P "$python")" >build-torch/python.ini
  meson setup build-torch --native-file build-torch/python.ini $([[ ! -f build-torch/build.ninja ]] || echo --reconfigure) -Dtests=disabled \
    -Dbenchmarks=disabled -Dnpz=disabled -Dre2=disabled -Dcuda=disabled -Dpython=enabled && ninja -C build-torch binade python_module
}

run_torch() {
  local device=()
  "$python" -c 'import torch' || { echo "$python has no PyTorch; set BINADE_PYTHON to a Python that has it"; return; }
  [[ -z $emulated ]] || device=(--emulated "$(architecture)")
  export PYTHONPATH=$PWD/build-torch/lib/python:$PWD/.deps/python
  rm -rf build-torch/recordings
  mkdir -p build-torch/recordings
  stage build 240 build_module || return 1
  deadline=$((deadline - 30)) # for packing
  stage check 400 "$python" cuda/check_torch.py "$results" build-torch/recordings \
    --seconds $(((deadline - SECONDS - 60) / 4)) "${device[@]}"
  if (($? == 77)); then
    worst=77
    return
  fi
  deadline=$((deadline + 30))
  stage pack 20 pack_recordings build-torch
  stage replay 20 build-torch/binade validate --replay build-torch/recordings --show 1
}

run() {
  local binade=build-gpu/binade device=() cases=() resume=() dots=2000000000 rows=2000
  if [[ -n $emulated ]]; then
    device=(--emulated "$(architecture)") cases=(--cases 1000) dots=100000 rows=20
  fi
  [[ -n ${BINADE_RESUME:-} ]] && resume=(--resume) || rm -rf build-gpu/recordings
  mkdir -p build-gpu
  stage build 240 build || return 1
  # What must not be lost comes first; the scalar instructions take the rest of the time. Another run records those that are
  # missing: copy the recordings back to build-gpu/recordings and set BINADE_RESUME=1.
  stage device 20 $binade device "${device[@]}"
  if (($? == 77)); then
    worst=77
    return
  fi
  stage record 120 $binade record --dots --out build-gpu/recordings "${resume[@]}" "${device[@]}"
  stage open 90 $binade record --dots open --out build-gpu/recordings/open "${resume[@]}" "${device[@]}"
  stage settle 30 settle
  stage pack 20 pack_recordings build-gpu
  stage replay 60 $binade validate --replay build-gpu/recordings/dots --show 1
  stage dots 60 $binade validate --device --rows $rows --show 1 "${device[@]}"
  stage crossed 90 $binade validate crossed --dots $dots "${device[@]}"
  stage kernels 90 $binade device --check-kernels "${device[@]}"
  stage bulk 60 bulk
  stage rates 60 $binade device --rates "${device[@]}"
  if type -P cuobjdump >/dev/null; then stage sass 60 machine_code; fi
  if type -P compute-sanitizer >/dev/null && [[ -z $emulated ]]; then
    stage memcheck 40 compute-sanitizer --error-exitcode 1 $binade validate crossed --dots 100000
    stage racecheck 40 compute-sanitizer --tool racecheck --error-exitcode 1 $binade validate crossed --dots 20000
  fi
  deadline=$((deadline - 30)) # for packing
  stage scalar 570 $binade record --scalar --out build-gpu/recordings "${resume[@]}" "${cases[@]}" "${device[@]}"
  deadline=$((deadline + 30))
  stage pack 20 pack_recordings build-gpu
  stage replay 20 $binade validate --replay build-gpu/recordings/scalar --show 1
}

emulated='' what=run python=${BINADE_PYTHON:-python3}
while [[ ${1:-} == --* ]]; do
  case $1 in
    --pack) pack; exit ;;
    --emulated) emulated=1 ;;
    --torch) what=run_torch ;;
    *) echo "unknown option $1; the options are --pack, --emulated and --torch" >&2; exit 2 ;;
  esac
  shift
done
results=${1:-${OUT:-build-gpu/results}}
mkdir -p "$results" || exit 2
deadline=${BINADE_SECONDS:-570}
export PATH=$PATH:/usr/local/cuda/bin CPLUS_INCLUDE_PATH=$PWD/.deps/include PYTHONUNBUFFERED=1
exec > >(tee "$results/log.txt") 2>&1
"$what"
printf '\nstatus %d after %d s\n' "$worst" "$SECONDS"
exit "$worst"
