# SPDX-License-Identifier: Apache-2.0
"""Makes batches of one row and others, and finds where the row is in the result of an op."""
import torch

from ..observe.tensor_bits import same_bits


class Rows:
    """Makes batches of a row and others.

    inputs: a tensor, or a tuple, list or dict of tensors, whose first axis is the batch; other objects among them are passed on.
    most: rows of the largest batch. If there are fewer rows, others are made (made: how many), whose elements are drawn, by a seed,
    from the elements of their tensor.
    """

    def __init__(self, inputs, row, most, seed):
        self._form = dict if isinstance(inputs, dict) else tuple if isinstance(inputs, tuple | list) else None
        named = inputs if self._form is dict else dict(enumerate(inputs)) if self._form else {0: inputs}
        self._given = dict(named)
        tensors = {key: x.detach() for key, x in named.items() if isinstance(x, torch.Tensor) and x.dim() > 0}
        sizes = {len(x) for x in tensors.values()}
        if not tensors or len(sizes) != 1 or 0 in sizes:
            raise ValueError("inputs: tensors are wanted whose first axis is the batch, of one length that is not 0, not of "
                             f"{', '.join(map(str, sorted(sizes))) or 'none'}")
        count, = sizes
        if not isinstance(row, int) or not 0 <= row < count:
            raise ValueError(f"row {row!r}: one of 0 to {count - 1} is wanted")
        self._row = {key: x[row:row + 1] for key, x in tensors.items()}
        others = [at for at in range(count) if at != row and any(not same_bits(x[at], x[row]) for x in tensors.values())][:most]
        self.made = max(0, most - 1 - len(others))
        self._pool = {key: torch.cat([x[others], drawn(x, most - len(others), seed)]) for key, x in tensors.items()}
        if all(same_bits(x[at], self._row[key][0]) for key, x in self._pool.items() for at in range(most)):
            raise ValueError("inputs: every element of a tensor is the same, so no rows can be told apart; give rows that differ")

    def batch(self, size, place, first=0, another=False):
        """Returns a batch, as arguments of fn, of the row at a place among others from `first` on; another: with one of the
        others in its place."""
        out = {}
        for key, x in self._given.items():
            if key in self._row:
                others = self._pool[key][first:first + size - 1]
                own = self._pool[key][-1:] if another else self._row[key]
                x = torch.cat([others[:place], own, others[place:]])
                if self._given[key].requires_grad:
                    x.requires_grad_()
            out[key] = x
        return out if self._form is dict else tuple(out.values())


def drawn(x, count, seed):
    """Returns so many rows like those of x, whose elements are drawn from those of x."""
    at = torch.randint(x.numel(), (count, x[0].numel()), generator=torch.Generator().manual_seed(seed))
    return x.reshape(-1)[at.to(x.device)].reshape(count, *x.shape[1:])


def axis_of(alone, batched, size):
    """Returns the axis of a result's shape that is `size` times as long as for the row by itself, while all others are
    equally long, except axes of one element; None if there is no such axis, or more than one."""
    if len(alone) == len(batched):
        differing = [at for at, (x, y) in enumerate(zip(alone, batched)) if x != y]
        return differing[0] if len(differing) == 1 and batched[differing[0]] == size * alone[differing[0]] else None
    wanted = [x for x in alone if x != 1]
    axes = [at for at, x in enumerate(batched)
            if x % size == 0 and [y for y in (*batched[:at], x // size, *batched[at + 1:]) if y != 1] == wanted]
    return axes[0] if len(axes) == 1 else None


def part(x, axis, outer, size, place):
    """Returns a view of the elements of one row, on an axis that runs over outer · size · the rest."""
    return x.unflatten(axis, (outer, size, x.shape[axis] // (outer * size))).select(axis + 1, place)


def found(x, others, row, size, place):
    """Finds where a row is from hashes along an axis: x those of a batch, `others` those of a batch with other rows beside
    the row, and `row` those of a batch with another row in its place.

    Returns ("row", outers), if for each of these `outer` part() holds all that depends on the row and nothing that depends on the
    others; "without", if nothing depends on the row; "mixes", if something depends on it and on others; else "lost".
    """
    if others.shape != x.shape or row.shape != x.shape:
        return "lost", ()
    by_row, by_others = x != row, x != others
    if not bool(by_row.any()):
        return "without", ()
    if bool((by_row & by_others).any()):
        return "mixes", ()
    if len(x) % size:
        return "lost", ()
    inner = len(x) // size
    outers = []
    for outer in (n for n in range(1, inner + 1) if inner % n == 0):
        rest = by_row.view(outer, size, -1).any(2).any(0)
        rest[place] = False
        if not bool(rest.any()) and not bool(part(by_others, 0, outer, size, place).any()):
            outers.append(outer)
    return ("row", tuple(outers)) if outers else ("lost", ())
