# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.tensor_cores(check=True): the order of an emulation in the GPU's place is found, a planted wrong bit is reported,
# the program replays the recordings, and PyTorch's own kernels are not said to be explained where they are not. SKIP without torch.
# tensor_cores_check_test.py BINADE
import functools
import glob
import json
import os
import struct
import sys
import tempfile
import unittest

try:
    import torch

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import main
from made_files import parts_of_safetensors
from tensor_cores_case import TensorCoresCase, numbers, tf32
from torch.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional
SPLIT = binade.GemmModel("mma.m16n8k8.f32.tf32.tf32.f32", "sm_90", split=4, round=True)
HALF_SPLIT = binade.GemmModel("mma.m16n8k16.f32.f16.f16.f32", "sm_90", split=2)


def in_parts(kind, dtype):
    """An order that only matrix products have."""
    return {torch.float32: SPLIT, torch.float16: HALF_SPLIT}.get(dtype) if kind == "matmul" else None


def checking(**options):
    return binade.torch.tensor_cores("sm_90", check=True, **options)


def rows(mode, **wanted):
    return [row for row in mode.account.to_dict()["products"] if all(row[key] == x for key, x in wanted.items())]


class Flips(TorchDispatchMode):
    """Flips bits of an element of what a call of an op gives."""

    def __init__(self, op, element, bits=1, call=2):
        super().__init__()
        self._op, self._element, self._bits, self._call, self._calls = op, element, bits, call, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func._schema.name == self._op:
            self._calls += 1
            if self._calls == self._call:
                out = out.clone()
                out.view(torch.int32)[self._element] ^= self._bits
        return out


class Unfolds(TorchDispatchMode):
    """Convolutions as one product, K over channels and then the kernel, the first summand first."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name != "aten::convolution":
            return func(*args, **(kwargs or {}))
        (x, w), stride = args[:2], args[3][0]
        columns = F.unfold(x, w.shape[2:], stride=stride)
        sums = [binade.gemm(w.flatten(1), image.contiguous(), model=binade.GemmModel("fma.rn.f32.f32.f32.f32"))
                for image in columns]
        size = [(h - r) // stride + 1 for h, r in zip(x.shape[2:], w.shape[2:])]
        return torch.stack(sums).reshape(len(x), len(w), *size)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = torch.nn.Linear(96, 24), torch.nn.Linear(24, 8, bias=False)
        self.image = torch.nn.Conv2d(4, 6, 3, 2, 1, groups=2)

    def forward(self, x, y):
        return self.second(self.first(x).sigmoid()).sum() + self.image(y).square().sum()


def run_net():
    """Gradients of a net, the same ones in every run."""
    net = Net()
    net(torch.randn(20, 96), torch.randn(2, 4, 7, 7)).backward()
    return [p.grad for p in net.parameters()]


@functools.lru_cache(maxsize=None)
def checked_net():
    """Within an emulation with orders of its own: gradients, the account, a folder with recordings."""
    folder = tempfile.TemporaryDirectory(prefix="binade-test-")
    with tf32(True, True), binade.torch.tensor_cores("sm_90", order=in_parts):
        wanted = run_net()
        with checking(save=folder.name) as mode:
            run_net()
            torch.baddbmm(torch.randn(3, 4, 5), torch.randn(3, 4, 16), torch.randn(3, 16, 5), beta=0.5, alpha=-3)
    return wanted, mode, folder


class Check(TensorCoresCase):
    x = torch.randn(20, 96, generator=torch.Generator().manual_seed(2))

    def test_what_is_as_usual_is_explained_and_nothing_is_changed(self):
        with tf32(True, True), binade.torch.tensor_cores("sm_90"):
            wanted = run_net()
            with checking() as mode:
                got = run_net()
        self.assertTrue(all(map(torch.equal, got, wanted)))
        self.assertTrue(mode.account.all_explained)
        self.assertEqual(len(rows(mode)), len(rows(mode, verdict="equal")))
        self.assertEqual(sum(ran.calls for ran in mode.covered()), sum(row["compared"] for row in rows(mode)))
        self.assertLessEqual({"addmm", "mm", "convolution", "convolution_backward"}, {row["op"] for row in rows(mode)})
        self.assertIn("image (Conv2d) at", rows(mode, op="convolution")[0]["place"])
        self.assertIn(os.path.basename(__file__), rows(mode, op="convolution")[0]["place"])
        self.assertTrue(all("backward" in row["place"] for row in rows(mode, op="convolution_backward")))

    def test_another_order_outside_is_found_and_followed(self):
        wanted, mode, _ = checked_net()
        with tf32(True, True):
            found = rows(mode, op="addmm")[0]
            self.assertEqual((found["verdict"], found["dtype"]), ("explained", "float32"))
            self.assertTrue("--split 4" in found["by"] or "--promote-every 3" in found["by"], found["by"])  # 12 instructions
            self.assertTrue(mode.account.all_explained, str(mode.account))
            with binade.torch.tensor_cores("sm_90"):
                self.assertFalse(all(map(torch.equal, run_net(), wanted)))
            mode.account.save_json(self.path("account.json"))
            for order in (mode.account, binade.torch.Account.load(self.path("account.json"))):
                with binade.torch.tensor_cores("sm_90", order=order):
                    self.assertTrue(all(map(torch.equal, run_net(), wanted)))

    def test_two_orders_of_one_size_are_told(self):
        a, b = torch.randn(24, 32), torch.randn(32, 24)
        mode = checking()
        for order in (None, in_parts):
            with tf32(True, True), binade.torch.tensor_cores("sm_90", order=order), mode:
                torch.mm(a, b)
        self.assertEqual([row["differing_calls"] for row in rows(mode)], [1])
        self.assertIn("another order", rows(mode)[0]["why"])

    def test_calls_of_one_place_may_have_orders_of_their_own(self):
        orders = {n: binade.GemmModel("fma.rn.f32.f32.f32.f32", split=n) for n in (2, 4)}
        a, b, parts = numbers(1, 16, 256), numbers(2, 256, 24), iter((2, 4, 2))
        with tf32(False, False), binade.torch.tensor_cores("sm_90", order=lambda *_: orders[next(parts)]), checking() as mode:
            for _ in range(3):
                a @ b
        row, = rows(mode)
        self.assertEqual((row["verdict"], row["explained"], row["compared"]), ("explained", 3, 3), row)

    def test_a_convolution_whose_k_runs_over_channels_first_is_explained_and_not_followed(self):
        x, w, folder = torch.randn(2, 5, 8, 6), torch.randn(4, 5, 3, 2), self.path("kept")
        with Unfolds(), checking(save=folder) as mode, tf32(False, False):
            F.conv2d(x, w, stride=2)
        row, = rows(mode)
        self.assertEqual((row["verdict"], row["k_runs_over"], row["order"]), ("explained", "channels, kernel", "k ascending"))
        self.assertIn("K over channels, kernel", str(mode.account))
        self.assertIn("order=account does not take", row["why"])
        self.assertEqual(mode.account.to_dict()["orders"], [])
        self.assertIn("different 0", self.good("validate", "--replay", folder).splitlines()[-1])

    def test_halves_that_hide_most_of_an_order_are_found(self):
        a, b = torch.randn(40, 96).half(), torch.randn(96, 48).half()
        with binade.torch.tensor_cores("sm_90", order=in_parts), checking() as mode:
            a @ b
        found, = rows(mode)
        self.assertEqual(found["verdict"], "explained", str(mode.account))
        model = binade.GemmModel.__new__(binade.GemmModel)
        model.__setstate__(found["by"])
        whole = binade.GemmModel(HALF_SPLIT.instruction, "sm_90", split=2, epilogue_format="binary32", out_format="binary16")
        self.assertTrue(torch.equal(binade.gemm(a, b, model=model), binade.gemm(a, b, model=whole)))

    def test_a_planted_bit_is_told_by_op_place_and_element(self):
        a, b = numbers(3, 12, 40), numbers(4, 40, 10)
        with tf32(True, True), binade.torch.tensor_cores("sm_90"), Flips("aten::mm", (3, 5)), checking() as mode:
            for _ in range(3):
                a @ b  # here
        wrong, = rows(mode)
        with open(__file__, encoding="utf-8") as file:
            line = next(i for i, text in enumerate(file, 1) if text.endswith("  # here\n"))
        self.assertEqual((wrong["op"], wrong["verdict"], wrong["calls"], wrong["differing"]), ("mm", "different", 3, 1))
        self.assertIn(f"{os.path.basename(__file__)}:{line}", wrong["place"])
        self.assertEqual((wrong["first"][0]["call"], wrong["first"][0]["element"]), (1, [3, 5]))
        self.assertNotEqual(wrong["first"][0]["given"], wrong["first"][0]["emulated"])
        self.assertFalse(mode.account.all_explained)
        self.assertIn("element [3, 5]", str(mode.account))

    def test_the_sign_of_a_zero_is_a_difference(self):
        a, b = torch.zeros(4, 8), torch.ones(8, 4)
        with tf32(True, True), binade.torch.tensor_cores("sm_90"), Flips("aten::mm", (1, 2), -1 << 31, 1), checking() as mode:
            self.assertEqual(str((a @ b)[1, 2].item()), "-0.0")
        row, = rows(mode)
        self.assertEqual((row["differing"], row["verdict"]), (1, "different"))

    def test_a_bit_that_was_not_looked_at_keeps_a_model_from_explaining(self):
        a, b = torch.randn(40, 32), torch.randn(32, 40)
        with tf32(True, True):
            with binade.torch.tensor_cores("sm_90"):
                usual = a @ b
            with binade.torch.tensor_cores("sm_90", order=in_parts):
                different = (a @ b != usual).nonzero().tolist()
                with checking() as mode:
                    a @ b
                looked_at = [element[1:] for element in rows(mode)[0]["sampled"]]
                self.assertEqual(rows(mode)[0]["verdict"], "explained")
                other = next(element for element in different if element not in looked_at)
                with Flips("aten::mm", tuple(other), 2, 1), checking() as mode:
                    a @ b
        row, = rows(mode)
        self.assertEqual((row["verdict"], row["by"]), ("different", ""), str(mode.account))
        self.assertIn("against all elements, and none gives them", row["conclusion"])

    def test_recordings_are_replayed_and_a_flipped_bit_is_not(self):
        _, mode, kept = checked_net()
        folder = kept.name
        recorded = glob.glob(os.path.join(folder, "*.safetensors"))
        self.assertEqual(len(recorded), len({row["recording"] for row in rows(mode)}))
        self.assertGreaterEqual(len(recorded), 7)
        self.assertIn("different 0", self.good("validate", "--replay", folder).splitlines()[-1])
        self.assertRaises(ValueError, checking, save=folder)
        for path in recorded:
            with open(path, "rb") as file:
                data = bytearray(file.read())
            header, rest = parts_of_safetensors(data)
            data[len(data) - len(rest) + header["d"]["data_offsets"][0]] ^= 1
            done = self.run_binade("validate", "--replay", self.write("flipped.safetensors", bytes(data)))
            self.assertEqual((done.returncode, done.stderr), (1, b""), path)
            self.assertIn(b"different 1", done.stdout)

    def test_recordings_that_say_more_than_a_model_are_refused(self):
        folder = self.path("kept")
        with tf32(True, True), binade.torch.tensor_cores("sm_90"), checking(save=folder):
            self.x @ self.x.t()
        path, = glob.glob(os.path.join(folder, "*.safetensors"))
        with open(path, "rb") as file:
            data = file.read()
        header, rest = parts_of_safetensors(data)
        for words in ("--help", "--bias /x", "--instruction nonsense", "other.npy", "-o x", ""):
            header["__metadata__"]["command"] = words
            text = json.dumps(header).encode()
            text += b" " * (-len(text) % 8)
            hostile = self.write("hostile.safetensors", struct.pack("<Q", len(text)) + text + rest)
            self.assertIn("hostile.safetensors: metadata 'command'", self.complaint("validate", "--replay", hostile))

    def test_pytorchs_own_kernels_are_judged_by_every_bit(self):
        with tf32(False, False), checking(save=self.path("own")) as mode:
            own = run_net()
            self.x.double() @ self.x.double().t()
        self.assertTrue(all(map(torch.equal, own, run_net())) or torch.backends.mkldnn.is_available())
        judged = {row["verdict"] for row in rows(mode)}
        self.assertLessEqual(judged, {"equal", "explained", "different"})
        for row in rows(mode):
            self.assertEqual(row["verdict"] == "equal", row["differing"] == 0)
            self.assertEqual(bool(row["by"]), row["verdict"] == "explained")
            self.assertEqual(bool(row["first"]), row["differing"] > 0)
        self.assertIn("of float64", str(mode.account))
        if glob.glob(self.path("own/*.safetensors")):
            self.good("validate", "--replay", self.path("own"))

    def test_work_has_bounds_that_are_told(self):
        with tf32(True, True), binade.torch.tensor_cores("sm_90", order=in_parts):
            with checking(calls=2, kinds=0) as mode:
                for _ in range(5):
                    self.x @ self.x.t()
            row, = rows(mode)
            self.assertEqual((row["calls"], row["compared"], row["verdict"]), (5, 2, "different"))
            self.assertIn("kinds=", row["why"])
            with checking(seconds=0) as mode:
                self.x @ self.x.t()
            self.assertEqual([row["verdict"] for row in rows(mode)], ["unseen"])
            self.assertFalse(mode.account.all_explained)

    def test_an_order_that_is_none_of_pytorchs_is_told(self):
        with checking(order=lambda kind, dtype: "reference") as mode:
            self.x @ self.x.t()
        row, = rows(mode)
        self.assertEqual(row["verdict"], "unseen")
        self.assertIn('order gave "reference"', row["why"])

    def test_in_place_and_out_are_compared_with_what_was_there_before(self):
        a, b, c = torch.randn(6, 32), torch.randn(32, 7), torch.randn(6, 7)
        with tf32(True, True), binade.torch.tensor_cores("sm_90"), checking() as mode:
            c.addmm_(a, b)
            torch.addmm(c, a, b, out=c)
        self.assertEqual([row["verdict"] for row in rows(mode, op="addmm")], ["equal", "equal"])

    def test_a_product_without_elements_is_not_looked_at(self):
        with checking() as mode:
            torch.empty(0, 4) @ torch.empty(4, 3)
        self.assertEqual([row["verdict"] for row in rows(mode)], ["unseen"])
        self.assertFalse(mode.account.all_explained)
        self.assertIn("0 of 0 products explained bit for bit; 1 not looked at", str(mode.account))

    def test_fp8_products_with_scales_are_compared(self):
        if not hasattr(torch, "_scaled_mm") or not hasattr(torch, "float8_e4m3fn"):
            self.skipTest("this torch has no float8 and no _scaled_mm")
        a, b = (numbers(i, 32, 64).clamp(-400, 400).to(torch.float8_e4m3fn) for i in (1, 2))
        for outside, verdict in (("sm_90", "equal"), ("sm_100", "different")):
            with binade.torch.tensor_cores(outside), checking() as mode:
                torch._scaled_mm(a, b.t(), torch.ones(()), torch.ones(()), out_dtype=torch.float32)
            row, = rows(mode)
            self.assertEqual((row["op"], row["verdict"], row["elements"]), ("_scaled_mm", verdict, 1024), row)
            self.assertIn("wgmma.m64n8k32.f32.e4m3.e4m3 on sm_90", row["usual"])

    def test_lists_of_scales_are_told_by_no_number(self):
        functional = torch.nn.functional
        if not hasattr(functional, "scaled_mm"):
            self.skipTest("this torch has no torch.nn.functional.scaled_mm")
        a, b = (numbers(i, 32, 64).clamp(-400, 400).to(torch.float8_e4m3fn) for i in (1, 2))
        kind = functional.ScalingType.TensorWise
        with binade.torch.tensor_cores("sm_90"), checking() as mode:
            for scale in (0.5, 0.25):
                functional.scaled_mm(a, b.t(), torch.full((1,), scale), kind, torch.ones(1), kind)
        row, = rows(mode)
        self.assertEqual((row["op"], row["verdict"], row["calls"]), ("_scaled_mm_v2", "equal", 2))

    def test_the_page_asks_for_nothing_and_names_what_differs(self):
        a = torch.randn(8, 16)
        with tf32(True, True), binade.torch.tensor_cores("sm_90"), Flips("aten::mm", (2, 1)), checking() as mode:
            a @ a.t(), a @ a.t()
        mode.account.save_html(self.path("account.html"))
        page = self.read("account.html").decode()
        self.assertIn("[2, 1]", page)
        self.assertIn("Not explained", page)
        self.assertNotIn("http", page.replace("http-equiv", ""))

    def test_what_it_cannot_be_is_refused_in_one_line(self):
        for wanted, call in ((ValueError, lambda: checking(calls=-1)), (ValueError, lambda: checking(kinds="x")),
                             (TypeError, lambda: binade.torch.tensor_cores("sm_90", save="x")),
                             (TypeError, lambda: checking(operands="e4m3")),
                             (ValueError, lambda: binade.torch.Account.load(self.write("x.json", b"{}"))),
                             (ValueError, lambda: binade.torch.Account.load(self.write("x.json", b"nonsense")))):
            with self.assertRaises(wanted) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))


class Opaque(TensorCoresCase):
    def told(self, model, x):
        with torch.no_grad(), checking() as mode:
            model(x)
        self.assertTrue(mode.account.to_dict()["products"])
        note, = mode.account.to_dict()["notes"]
        self.assertIn(f"Note: {note}.", str(mode.account))
        with tempfile.TemporaryDirectory() as folder:
            mode.account.save_html(os.path.join(folder, "a.html"))
            mode.account.save_json(os.path.join(folder, "a.json"))
            with open(os.path.join(folder, "a.html"), encoding="utf-8") as file:
                self.assertIn(note[:40].partition("(")[0], file.read())
            self.assertEqual(str(binade.torch.Account.load(os.path.join(folder, "a.json"))), str(mode.account))
        return note

    def test_what_is_scripted_is_named(self):
        x, model = numbers(1, 3, 8), torch.nn.Linear(8, 4)
        self.assertRegex(self.told(torch.nn.Sequential(torch.jit.trace(model, (x,))), x), "^TorchScript of Linear ran uncompiled")
        with torch.no_grad(), checking() as mode:
            model(x)
        self.assertEqual(mode.account.to_dict()["notes"], [])

    @unittest.skipUnless(hasattr(torch, "compile"), "torch.compile came with torch 2.0; the suite torch-latest has it")
    def test_what_is_compiled_is_named(self):
        self.assertRegex(self.told(torch.compile(torch.nn.Linear(8, 4)), numbers(1, 3, 8)), "^torch.compile of Linear ran uncomp")


if __name__ == "__main__":
    main()
