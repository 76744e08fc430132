# SPDX-License-Identifier: Apache-2.0
#
# lib/amp's GradScaler against PyTorch's own class, line by line of random scripts: scales, trackers, gradients' bits,
# steps, error texts, reloaded states. Argument: the program amp_trace.
#
# Where PyTorch has no CPU kernels for the scaler (Debian's 1.13 has none) its Python class is driven with three
# replacements written here: the availability check, the replicator that insists on CUDA, and the two kernels
# _amp_foreach_non_finite_check_and_unscale_ and _amp_update_scale_ (with the check for a finite scale that 2.1 and
# later have). All else, stages, order and texts, is PyTorch's. A newer torch.amp.GradScaler("cpu") runs as it is.

import math
import random
import struct
import subprocess
import sys

import torch

DTYPES = {"binary32": torch.float32, "bfloat16": torch.bfloat16, "binary16": torch.float16}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-149, 2.0**-126, 65504.0, 3.4028234663852886e38, 1.0, -2.5]


class Replicator:
    def __init__(self, master):
        self.master, self._per_device_tensors = master, {}

    def get(self, device):
        return self._per_device_tensors.setdefault(device, self.master.clone())


def check_and_unscale(grads, found_inf, inv_scale):
    for grad in grads:
        if not torch.isfinite(grad).all():
            found_inf.fill_(1.0)
        if inv_scale.item() != 1.0:
            grad.copy_((grad.float() * inv_scale).to(grad.dtype))


def update_scale(scale, tracker, found_inf, growth, backoff, interval):
    if found_inf.item():
        scale.copy_((scale.double() * backoff).float())
        tracker.fill_(0)
        return
    good = tracker.item() + 1
    if good == interval:
        grown = (scale.double() * growth).float()
        if torch.isfinite(grown):
            scale.copy_(grown)
    tracker.fill_(0 if good == interval else good)


def make_scaler_class():
    """PyTorch's GradScaler as it runs on the CPU, and how it came to."""
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return lambda **options: torch.amp.GradScaler("cpu", **options), "as it is"
    import torch.cuda.amp.grad_scaler as module
    module.amp_definitely_not_available = lambda: False
    module._MultiDeviceReplicator = Replicator
    torch._amp_foreach_non_finite_check_and_unscale_ = check_and_unscale
    torch._amp_update_scale_ = update_scale

    class OnCpu(module.GradScaler):
        def scale(self, outputs):  # the original asserts a CUDA tensor here, and does this
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale

    return OnCpu, "with its two kernels replaced"


def hex_of(x):
    return "nan" if math.isnan(x) else f"{struct.unpack('<I', struct.pack('<f', x))[0]:x}"


def double_hex_of(x):
    return "nan" if math.isnan(x) else f"{struct.unpack('<Q', struct.pack('<d', x))[0]:x}"


class Optimizer:
    """What GradScaler asks of an optimizer."""

    def __init__(self):
        self.param_groups, self.steps = [{"params": []}], 0

    def step(self):
        self.steps += 1

    def set_gradients(self, words):
        self.param_groups[0]["params"] = []
        for word in words:
            if word == "none":
                self.param_groups[0]["params"].append(torch.nn.Parameter(torch.zeros(1)))
                continue
            name, numbers = word.split(":")
            bits = [int(number, 16) for number in numbers.split(",")]
            values = [struct.unpack("<f", struct.pack("<I", b))[0] for b in bits]
            parameter = torch.nn.Parameter(torch.zeros(len(values), dtype=DTYPES[name]))
            parameter.grad = torch.tensor(values, dtype=torch.float32).to(DTYPES[name])
            self.param_groups[0]["params"].append(parameter)

    def gradients(self):
        out = ""
        for parameter in self.param_groups[0]["params"]:
            values = [] if parameter.grad is None else parameter.grad.float().tolist()
            out += " [" + "".join(" " + hex_of(x) for x in values) + " ]"
        return out


class Theirs:
    def __init__(self, make):
        self.make, self.scaler, self.optimizers = make, None, {}

    def answer(self, line):
        command, *words = line.split()
        if command == "new":
            init, growth, backoff = map(float, words[:3])
            self.optimizers = {}
            self.scaler = self.make(init_scale=init, growth_factor=growth, backoff_factor=backoff,
                                    growth_interval=int(words[3]))
        elif command == "interval":
            self.scaler.set_growth_interval(int(words[0]))
        elif command == "scale":
            value = struct.unpack("<f", struct.pack("<I", int(words[0], 16)))[0]
            return hex_of(self.scaler.scale(torch.tensor(value, dtype=torch.float32)).item())
        elif command == "update":
            value = struct.unpack("<f", struct.pack("<I", int(words[0], 16)))[0] if words else None
            self.scaler.update(value)
        elif command == "reload":
            state, self.scaler = self.scaler.state_dict(), self.make()
            self.scaler.load_state_dict(state)
            return "{" + ",".join(f'"{k}":{v!r}' for k, v in state.items()) + "}"
        else:
            optimizer = self.optimizers.setdefault(words[0], Optimizer())
            if command == "grads":
                optimizer.set_gradients(words[1:])
            elif command == "unscale":
                self.scaler.unscale_(optimizer)
                return "unscaled" + optimizer.gradients()
            else:
                self.scaler.step(optimizer)
                return f"steps {optimizer.steps}" + optimizer.gradients()
        return f"scale {double_hex_of(self.scaler.get_scale())} tracker {self.scaler._get_growth_tracker()}"


def random_gradient(draw):
    if draw.random() < 0.1:
        return "none"
    name = draw.choices(list(DTYPES), [6, 3, 0.3])[0]
    inf = draw.random() < 0.2
    values = []
    for _ in range(draw.randint(1, 4)):
        x = draw.choice(SPECIAL) if inf and draw.random() < 0.5 else draw.gauss(0, 1) * 2.0**draw.randint(-40, 30)
        values.append(torch.tensor(x, dtype=torch.float64).to(DTYPES[name]).float().item())
    return name + ":" + ",".join("7fc00000" if math.isnan(x) else hex_of(x) for x in values)


def random_script(draw):
    init = draw.choice([65536.0, 3.0, 1.0, 2.0**126, 2.0**-148, 0.7])
    yield f"new {init!r} {draw.choice([2.0, 1.1, 1.5])} {draw.choice([0.5, 0.3])} {draw.randint(1, 5)}"
    if draw.random() < 0.95:
        yield f"scale {hex_of(draw.gauss(0, 1))}"
    for _ in range(draw.randint(3, 12)):
        for optimizer in range(draw.randint(1, 3)):
            yield f"grads {optimizer} " + " ".join(random_gradient(draw) for _ in range(draw.randint(0, 3)))
            for command in draw.choice([["step"], ["step"], ["unscale", "step"], ["unscale"], ["unscale", "unscale"],
                                        ["step", "step"], ["step", "unscale"], []]):
                yield f"{command} {optimizer}"
        ending = draw.random()
        if ending < 0.8:
            yield "update"
        elif ending < 0.85:
            yield f"update {hex_of(draw.choice([4.0, 0.3, 2.0**127]))}"
        elif ending < 0.9:
            yield f"interval {draw.randint(1, 6)}"
        elif ending < 0.93:
            yield "update"
            yield "reload"
            yield f"scale {hex_of(draw.gauss(0, 1))}"


def main(program):
    make, how = make_scaler_class()
    draw = random.Random(7)
    lines = [line for _ in range(400) for line in random_script(draw)]
    ours = subprocess.run([program], input="\n".join(lines) + "\n", text=True, capture_output=True,
                          check=True).stdout.splitlines()
    theirs, kinds, wrong = Theirs(make), {}, 0
    assert len(ours) == len(lines), f"{len(lines)} lines asked, {len(ours)} answered"
    for line, answer in zip(lines, ours):
        try:
            expected = theirs.answer(line)
        except (RuntimeError, ValueError, AssertionError) as error:
            expected = f"error: {error}"
        kinds[expected.split(" [")[0] if expected.startswith("error") else expected.split()[0]] = kinds.get(
            expected.split(" [")[0] if expected.startswith("error") else expected.split()[0], 0) + 1
        if answer != expected:
            wrong += 1
            if wrong <= 10:
                print(f"{line}\n  ours   {answer}\n  theirs {expected}")
    errors = {kind: n for kind, n in kinds.items() if kind.startswith("error")}
    print(f"torch {torch.__version__} {how}: {len(lines)} lines, {sum(errors.values())} of them errors of "
          f"{len(errors)} kinds, {wrong} different")
    for kind, n in sorted(errors.items()):
        print(f"  {n:6} {kind}")
    if len(errors) < 8:
        print("the scripts did not provoke all errors")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
