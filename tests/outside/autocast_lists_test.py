# SPDX-License-Identifier: Apache-2.0
#
# lib/amp's autocast lists against the kernels in PyTorch's own libraries, name by name with their policies, and what it
# says of other versions against theirs. Arguments: the program amp_trace, tests/recordings/torch/autocast_lists.json.
import json
import re
import subprocess
import sys

CHANGE = re.compile(r"(\w+) (from|before) PyTorch (\d+)\.(\d+)( on)?")


def lines_of(program, word):
    out = subprocess.run([program, word], text=True, capture_output=True, check=True).stdout
    return [line.split(" ", 2) for line in out.splitlines()]


def lists_of(program):
    """Device → op → policy; banned ops have no kernel of autocast's."""
    lists = {}
    for device, op, policy in lines_of(program, "lists"):
        if policy != "banned":
            lists.setdefault(device, {})[op] = policy
    return lists


# Registered as a kernel of its own (aten/src/ATen/cudnn/AutocastRNN.cpp), so without a symbol that tells its policy.
OF_THEIR_OWN = {"cuda": {"_cudnn_rnn": "lower_precision_fp"}}


def in_version(changes, device, version):
    """Op → policy as the changes tell it of a version, where it differs."""
    out = {}
    for where, op, what in changes:
        policy, way, major, minor, _ = CHANGE.fullmatch(what).groups()
        if where == device and (version >= (int(major), int(minor))) == (way == "from"):
            out[op] = policy
    return out


def main(program, recording):
    with open(recording) as file:
        recorded = json.load(file)
    ours, changes = lists_of(program), lines_of(program, "changes")
    complaints, compared = [], 0
    if set(ours) != set(recorded["lists"]):
        complaints.append(f"lists of {' '.join(ours)}, recorded {' '.join(recorded['lists'])}")
    for device, policies in recorded["lists"].items():
        theirs = {op: policy for policy, ops in policies.items() for op in ops.split()}
        theirs |= OF_THEIR_OWN.get(device, {})
        compared += len(theirs)
        for op in sorted(theirs.keys() | ours[device].keys()):
            mine, there = ours[device].get(op), theirs.get(op)
            if mine != there:
                complaints.append(f"{device} {op}: {mine} on our list, {there} in PyTorch {recorded['torch']}")
    versions = 0
    for version, devices in recorded["others"].items():
        number = tuple(map(int, version.split(".")[:2]))
        for device, differs in devices.items():
            versions += 1
            told = in_version(changes, device, number)
            if told != differs:
                complaints.append(f"{device} in PyTorch {version}: {differs} differ, our changes tell {told}")
    print(*complaints, sep="\n")
    print(f"{compared} names and {versions} lists of other versions compared, {len(changes)} changes")
    return 1 if complaints or compared < 400 or versions < 30 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
