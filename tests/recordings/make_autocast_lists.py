# SPDX-License-Identifier: Apache-2.0
#
# Reads PyTorch's autocast lists out of its own library: every op of a list is a function WrapFunction_<policy, device,
# …, op>::call there, whose mangled name says all three. Banned functions have none. The lists of the first wheel are written
# in full, and for the others the differences from it.
#   make_autocast_lists.py WHEEL… > OUT      wheels for macOS, whose libtorch_cpu keeps its symbols:
#   pip download torch==2.11.0 --no-deps --only-binary=:all: --python-version 3.11 --platform macosx_14_0_arm64
import json
import re
import sys
import zipfile

LIBRARY = "torch/lib/libtorch_cpu.dylib"
# In the order of at::autocast::CastPolicy, and of c10::DeviceType by number.
POLICIES = ["lower_precision_fp", "fp32", "fp32_set_opt_dtype", "fp32_append_dtype", "promote"]
DEVICES = {1: "cuda", 0: "cpu", 12: "xpu", 13: "mps"}
# Overloads, which follow a name; norm is called as at::norm and has none.
OVERLOADS = """deprecated input padding dim dim_int dim_Dimname dim_IntList dim_DimnameList dimname int Dimname str_ord
    Tensor_Scalar Tensor_Tensor Tensor Scalar scalar center IntList p_str tol_tensor atol_rtol_tensor
    atol_rtol_float""".split()
SYMBOL = re.compile(rb"_ZN2at8autocast13WrapFunction_ILNS0_10CastPolicyE(\d+)ELN3c1010DeviceTypeE(\d+)E"
                    rb"[\w$]*?XadL_ZNS_(?:4_ops(\d+)|4(norm)E)([\w$]*)")


def lists_of(wheel):
    """Device → op → policy."""
    with zipfile.ZipFile(wheel) as file:
        library = file.read(LIBRARY)
    lists = {name: {} for name in DEVICES.values()}
    for policy, device, length, norm, rest in SYMBOL.findall(library):
        name = (norm or rest[:int(length or 0)]).decode()
        overload = next((o for o in sorted(OVERLOADS, key=len, reverse=True) if name.endswith("_" + o)), None)
        op = name[:-len(overload) - 1] if overload else name
        if int(device) in DEVICES:
            known = lists[DEVICES[int(device)]].setdefault(op, POLICIES[int(policy)])
            if known != POLICIES[int(policy)]:
                sys.exit(f"{wheel}: {op} is on two lists")
    return lists


def version_of(wheel):
    return re.search(r"torch-([\d.]+)-", wheel)[1]


def main():
    base, *others = sys.argv[1:]
    lists = lists_of(base)
    out = {"torch": version_of(base), "lists": {}, "others": {}}
    for device, ops in lists.items():
        out["lists"][device] = {policy: " ".join(sorted(op for op in ops if ops[op] == policy)) for policy in POLICIES
                                if policy in ops.values()}
    for wheel in sorted(others, key=lambda wheel: [int(part) for part in version_of(wheel).split(".")]):
        theirs = lists_of(wheel)
        out["others"][version_of(wheel)] = {
            device: {op: theirs[device].get(op, "unlisted") for op in sorted(ops.keys() | theirs[device].keys())
                     if theirs[device].get(op) != ops.get(op)} for device, ops in lists.items()}
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
