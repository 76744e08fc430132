# SPDX-License-Identifier: Apache-2.0
"""Merges the runs of several processes into the bytes that one process with all their tensors would have."""
import dataclasses

from ... import _binade
from .apart import Apart
from .loop.bypassed import WHY, WHY_OF
from .run import Run, Window
from .values.told import tell


def gathered(x, group):
    """Returns x of every rank, in the order of ranks."""
    import torch.distributed as dist

    out = [None] * dist.get_world_size(group)
    dist.all_gather_object(out, x, group=group)
    return out


def packed(summaries):
    return {key: summary.to_bytes() for key, summary in summaries.items()}


def must_agree(all_of, what):
    for rank, one in enumerate(all_of):
        if one != all_of[0]:
            raise ValueError(f"rank {rank} has other {what} than rank 0: {one} and {all_of[0]}; watch the same steps on "
                             "every rank")


def merged(all_bytes, replicated, where, read):
    """Returns one dict of those of all ranks.

    replicated(key): True if every rank must have the same, which counts once; None if only the bytes tell whether they have."""
    out = {}
    for key in dict.fromkeys(key for one in all_bytes for key in one):
        there = [one.get(key) for one in all_bytes]
        same = all(x == there[0] for x in there)
        once = replicated(key)
        if once and not same:
            rank = next(rank for rank, x in enumerate(there) if x != there[0])
            why = WHY_OF.get(key[1], WHY) if isinstance(key, tuple) else WHY
            raise ValueError(f"{where}: {' '.join(key) if isinstance(key, tuple) else key} of rank {rank} is not that of rank 0, "
                             f"but DistributedDataParallel keeps them alike: the ranks have drifted apart. {why[0].upper()}{why[1:]}")
        counted = there[:1] if once or (once is None and same) else there
        sums = [read(x) for x in counted if x is not None]
        for more in sums[1:]:
            sums[0] = sums[0] + more
        out[key] = sums[0]
    return out


def by_rank(lines):
    """Returns lines of all ranks, each with the ranks that say it where not all do. lines: a list of each rank."""
    ranks = {}
    for rank, one in enumerate(lines):
        for line in one:
            ranks.setdefault(line, []).append(rank)
    return [line if len(of) == len(lines) else f"Rank{'s' * (len(of) > 1)} {', '.join(map(str, of))}: {line}" for line, of in ranks.items()]


def reduced(run, group, replicated):
    """Returns the Run of all ranks, the same on each. Raises ValueError if they watched different steps, or replicas differ."""
    windows, apart = [], Apart()
    must_agree(gathered((run.every, [(w.first, w.last, w.steps) for w in run.windows]), group), "windows")
    for window in run.windows:  # one after the other: memory for one window of every rank
        sums = gathered((packed(window.summaries), packed(window.updates)), group)
        apart.see(window.first, [one[0] for one in sums])
        where = f"step {window.first}"
        windows.append(Window(
            window.first, window.last, window.steps, window.loss_scale,
            merged([one[0] for one in sums], replicated, where, _binade.RangeSummary.from_bytes),
            merged([one[1] for one in sums], lambda layer: replicated((layer, "update")), where,
                   _binade._UpdateCounts.from_bytes)))
    layers = {}
    notes, found, mistakes, buffers = [], [], [], []
    inside, meant, uncounted, sums, learning = {}, set(), {}, {}, dataclasses.replace(run._learning)
    for rank, (of, told, events, wrong, ill, harmless, shares, entered, seen) in enumerate(
            gathered((run.layers, run.notes, run.nonfinite(), run.mistakes, run._inside, run._meant, run._uncounted, run._sums, run._learning), group)):
        for layer, causes in ill.items():
            for cause, one in causes.items():
                tell(inside, layer, cause, one)
        meant |= harmless
        uncounted |= shares
        sums |= {layer: max(share, sums.get(layer, 0.0)) for layer, share in entered.items()}
        learning.add(seen)
        buffers.append(seen.buffers)
        for key, layer in of.items():
            if key in layers:
                layers[key].see(layer)
            else:
                layers[key] = layer
        notes += [note for note in told if note not in notes]
        mistakes += [mistake for mistake in wrong if mistake not in mistakes]
        found += [dataclasses.replace(event, rank=rank) for event in events]
    found.sort(key=lambda event: event.place_in_run)
    learning.ranks = apart.lines
    learning.buffers = by_rank(buffers)
    out = Run(run.every, windows, layers, notes, found, mistakes)
    out._inside, out._meant, out._eps, out._stuck, out._skips = inside, meant, run._eps, run._stuck, run._skips
    out._own_scale = run._own_scale
    out._unusable_scale, out._uncounted, out._sums, out._learning = run._unusable_scale, uncounted, sums, learning
    return out
