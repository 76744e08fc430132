# SPDX-License-Identifier: Apache-2.0
#
# Watched runs of two processes merged (gloo): the bytes are those of one process that had the tensors of both. SKIP without
# torch or torch.distributed. watch_ranks_test.py BINADE
import importlib
import math
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
    import torch.distributed as dist

    import binade.torch
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from binade.torch.watch.ranks import by_rank

RANKS = 2
STEPS = 4


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(6, 8)
        self.fc2 = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def batches(rank):
    generator = torch.Generator().manual_seed(10 + rank)
    return [torch.randn(4, 6, generator=generator) for _ in range(STEPS)]


def train(model, optimizer, data, before_step=lambda: None, called=None, **options):
    with binade.torch.watch(model, optimizer, every=2, **options) as w:
        for x in data:
            optimizer.zero_grad()
            (called or model)(x).square().mean().backward()
            before_step()
            optimizer.step()
    return w


def packed(run):
    return {key: summary.to_bytes() for key, summary in run.summaries().items()}


def new_net():
    torch.manual_seed(0)
    return Net()


def averaged(model):
    """Gradients averaged by hand."""
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= RANKS


def scenario(what, rank):
    """A run of one of two processes, watched."""
    model = new_net()
    if what in ("ddp", "ill", "bypassed", "no sync", "bypassed by hand", "no sync by hand", "forward"):
        model = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=what == "forward")
    elif what == "drift":
        model = torch.nn.parallel.DistributedDataParallel(model)
        with torch.no_grad():
            model.module.fc1.weight += rank
    elif what == "fsdp":
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=torch.distributed.device_mesh.init_device_mesh("cpu", (RANKS,)))
    elif what == "apart":
        torch.manual_seed(rank)
        model = Net()
    data = batches(rank)[2 * rank:] if what == "other steps" else batches(rank)
    if what == "ill" and rank == 1:
        data[2][0, 0] = math.nan
    if what == "ill data" and rank == 1:
        data[2][0, 0] = torch.inf
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    def unsynced(x):
        with model.no_sync():
            return model(x)

    by_hand = what in ("by hand", "apart", "ill data", "bypassed by hand", "no sync by hand")
    called = {"no sync": unsynced, "bypassed": getattr(model, "module", model), "forward": model.forward}.get(what.removesuffix(" by hand"), model)
    return train(model, optimizer, data, (lambda: averaged(model)) if by_hand else lambda: None, called)


def in_rank(rank, scenarios, store):
    """What a process of two gets, by scenario: its own run, that of all and its report; or the line that refuses."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    out = {}
    for what in scenarios:
        w = scenario(what, rank)
        out["own", what] = w.advise().to_dict()["ranks"]
        try:
            run = w.all_reduce()
            out[what] = packed(w), packed(run), run.report().to_json()
            if what == "ill":
                out[what] = str(w.first_nonfinite()), str(run.first_nonfinite()), len(run.nonfinite())
            out["advice", what] = w.first_nonfinite(), run.first_nonfinite(), run.advise().to_dict()["ranks"]
        except ValueError as error:
            out[what] = str(error)
        dist.barrier()
    dist.destroy_process_group()
    return out


def can_shard():
    """None, or why torch has no shards that work here."""
    try:
        importlib.import_module("torch.distributed.fsdp").fully_shard
    except Exception as error:
        return f"torch {torch.__version__} has no fully_shard that can be imported: {error}"
    return None


def together(scenarios):
    """in_rank() of both processes."""
    with tempfile.TemporaryDirectory(prefix="binade-test-") as folder:
        there = [os.path.join(folder, str(rank)) for rank in range(RANKS)]
        running = [subprocess.Popen([sys.executable, __file__, "rank", str(rank), os.path.join(folder, "store"), path,
                                     *scenarios],
                                    stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"})
                   for rank, path in enumerate(there)]
        said = [process.communicate(timeout=250)[1].decode() for process in running]
        if any(process.returncode for process in running):
            raise AssertionError(said[0][-3000:] + said[1][-3000:])
        return [pickle.loads(pathlib.Path(path).read_bytes()) for path in there]


def added(a, b):
    return (binade.RangeSummary.from_bytes(a) + binade.RangeSummary.from_bytes(b)).to_bytes()


class Ranks(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        shards = [] if can_shard() else ["fsdp"]
        cls.ranks = together(["ddp", "by hand", "local", "drift", "bypassed", "no sync", "other steps", "ill", "apart", "ill data",
                              "bypassed by hand", "no sync by hand", "forward", *shards])

    def held_to_the_sum(self, what, once):
        """once(role, bytes are the same): whether one copy counts."""
        (own0, all0, json0), (own1, all1, json1) = (rank[what] for rank in self.ranks)
        self.assertEqual((all0, json0), (all1, json1))
        self.assertEqual(set(all0), set(own0))
        self.assertGreater(len(own0), 20)
        for key, got in all0.items():
            same = own0[key] == own1[key]
            self.assertEqual(got, own0[key] if once(key[2], same) else added(own0[key], own1[key]), key)
        return own0, own1, all0

    def test_replicas_count_once_and_activations_add(self):
        own0, own1, got = self.held_to_the_sum("ddp", lambda role, same: role not in ("act", "dAct"))
        for key in own0:
            self.assertEqual(own0[key] == own1[key], key[2] not in ("act", "dAct"), key)
        # One process that has both batches, as its micro-batches: activations are the same values.
        model = new_net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        with binade.torch.watch(model, optimizer, every=2) as w:
            for both in zip(*(batches(rank) for rank in range(RANKS))):
                optimizer.zero_grad()
                for x in both:
                    model(x).square().mean().backward()
                averaged_alone(model)
                optimizer.step()
        alone = packed(w)
        self.assertEqual(set(alone), set(got))
        for key, one in alone.items():
            self.assertEqual(got[key], one, key)

    def test_the_rank_that_is_ill_is_named(self):
        (own0, all0, _), (own1, all1, _) = (rank["ill"] for rank in self.ranks)
        self.assertIn("step 2, rank 0: ", own0)
        self.assertIn("were finite in this process: it arose in another rank, or in the sum over ranks", " ".join(own0.split()))
        self.assertRegex(own1, "step 2, rank 1: .*; it became 8 NaN in the output of fc1, forward")
        self.assertEqual((all0, all1), (own1, own1))

    def test_gradients_averaged_by_hand_count_once(self):
        self.held_to_the_sum("by hand", lambda role, same: role not in ("act", "dAct"))

    def test_local_gradients_add(self):
        own0, own1, _ = self.held_to_the_sum("local", lambda role, same: role not in ("act", "dAct") and same)
        self.assertEqual(own0[0, "fc1", "weight"], own1[0, "fc1", "weight"])
        self.assertNotEqual(own0[0, "fc1", "dW"], own1[0, "fc1", "dW"])

    def test_ranks_that_hold_different_models_without_ddp_are_told(self):
        for what, told in (("apart", "The ranks hold different models: the gradients of fc1, fc1.bias, fc2 and 1 more are the same on all"),
                           ("local", "The ranks began with the same weights, and from step 2 on all of these differ"), ("by hand", ""),
                           ("ddp", "")):
            for rank in self.ranks:
                _, _, lines = rank["advice", what]
                self.assertEqual([line[:len(told)] for line in lines], [told] if told else [])

    def test_of_a_step_that_is_ill_on_all_ranks_the_rank_is_told_on_which_it_began(self):
        for at, rank in enumerate(self.ranks):
            own, of_all, _ = rank["advice", "ill data"]
            self.assertRegex(of_all.text, r"^step 2, rank 1: .* in the output of fc1, forward; it got input .*1 Inf")
            self.assertEqual("all_reduce() of the watches, which tells on which rank it was first" in own.cure, at == 0, own.cure)

    def test_replicas_that_drift_apart_are_told(self):
        for told in (rank["drift"] for rank in self.ranks):
            self.assertRegex(told,
                             "^step 0: fc1 weight of rank 1 is not that of rank 0, but DistributedDataParallel keeps them alike")

    def test_a_forward_pass_that_bypasses_ddp_is_told_by_each_rank_and_by_all(self):
        for rank in self.ranks:
            told = "orward pass does not go through DistributedDataParallel, which then averages no gradients (call the"
            self.assertEqual([told in rank[what] for what in ("drift", "bypassed")], [True, True])
            self.assertEqual([line[:66] for line in rank["own", "bypassed"]],
                             ["The forward passes did not go through DistributedDataParallel, whi"])
            for healthy in ("ddp", "by hand", "local", "drift", "bypassed by hand", "no sync by hand", "forward"):
                self.assertEqual(rank["own", healthy], [])

    def test_gradients_that_no_sync_never_averages_are_told_by_each_rank_and_by_all(self):
        for rank in self.ranks:
            self.assertIn("step 0: fc1 dW of rank 1 is not that of rank 0", rank["no sync"])
            self.assertIn("or the backward passes of the step ran under no_sync(), the last one, too", rank["no sync"])
            self.assertEqual([line[:72] for line in rank["own", "no sync"]],
                             ["All 4 forward passes of DistributedDataParallel ran under no_sync(), the"])
            self.assertIn("Either weights were loaded or changed on one rank only (load them before", rank["drift"])

    def test_what_some_ranks_say_names_them(self):
        self.assertEqual(by_rank([["a", "b"], ["a"], ["a", "b"]]), ["a", "Ranks 0, 2: b"])
        self.assertEqual(by_rank([[], ["a"]]), ["Rank 1: a"])

    def test_other_steps_are_told(self):
        for told in (rank["other steps"] for rank in self.ranks):
            self.assertRegex(told, "^rank 1 has other windows than rank 0")

    def test_shards_add(self):
        if can_shard():
            self.skipTest(can_shard())
        own0, own1, got = self.held_to_the_sum("fsdp", lambda role, same: False)
        values = {key: binade.RangeSummary.from_bytes(x).values for key, x in got.items()}
        model = new_net()
        for name, p in (("fc1", model.fc1.weight), ("fc1.bias", model.fc1.bias), ("fc2", model.fc2.weight)):
            for role in ("weight", "dW", "update"):
                self.assertEqual(values[0, name, role], p.numel(), (name, role))
        self.assertEqual(values[0, "fc1.exp_avg", "state"], 48)


def averaged_alone(model):
    for p in model.parameters():
        p.grad /= RANKS


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        _, _, rank, store, path, *scenarios = sys.argv
        torch.set_num_threads(1)
        result = in_rank(int(rank), scenarios, store)
        with open(path, "wb") as file:
            pickle.dump(result, file)
        sys.exit(0)
    if not dist.is_available() or not dist.is_gloo_available():
        print("SKIP: torch has no gloo")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
