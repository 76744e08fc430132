# SPDX-License-Identifier: Apache-2.0
#
# lib/amp's autocast lists against what a newer PyTorch did on a GPU and on its CPU: the dtypes of results in
# tests/recordings/torch/facts.json. Arguments: the program amp_trace, the recording.
import json
import subprocess
import sys

# What is called in the recording, and which of ATen's operations it is; None: one that calls several.
ATEN = {"cross_entropy": "nll_loss", "square": "pow", "interpolate": None, "bilinear": None, "einsum": None,
        "batch_norm": None}
HALVES = {"f16": "float16", "bf16": "bfloat16"}


def expected(policy, low, given):
    """The dtype of the result of an operation whose inputs are all of one dtype."""
    return {"lower_precision_fp": low, "promote": given, None: given}.get(policy, "float32")


def main(program, recording):
    lines = subprocess.run([program, "lists"], text=True, capture_output=True, check=True).stdout.splitlines()
    policies = {(device, op): policy for device, op, policy in (line.split() for line in lines)}
    with open(recording) as file:
        facts = json.load(file)["autocast"]
    wrong = compared = 0
    for place, results in facts.items():
        device, word = place.split()
        for name, row in results.items():
            op = ATEN.get(name, name)
            if op is None:
                continue
            policy = policies.get((device, op))
            for given, found in zip((HALVES[word], "float32"), row):
                compared += 1
                want = expected(policy, HALVES[word], given)
                if found != want:
                    wrong += 1
                    print(f"{place}, {name} of {given}: PyTorch gave {found}, our list ({policy}) says {want}")
    print(f"{compared} results compared, {wrong} differ")
    return 1 if wrong or compared < 300 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
