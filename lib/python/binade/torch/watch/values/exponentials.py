# SPDX-License-Identifier: Apache-2.0
"""What an exponential of a loss that overflows is part of, by the nodes that take it, and what to take in its place.

    exp ─▶ sum ─▶ log, or a divisor: a softmax     1 + exp ─▶ log: a softplus, ─▶ a divisor: a sigmoid     else: its operand is to be bounded
"""
from .exact import EXPONENTIALS
from .nodes import op_of

SOFTMAX = "subtract the maximum before the exponential (softmax, log_softmax, logsumexp)"
SOFTPLUS = "take F.softplus (or F.logsigmoid) in the place of the logarithm of 1 + exp"
SIGMOID = "take torch.sigmoid in the place of the quotient with 1 + exp"
TANH = "take torch.tanh in the place of the quotient of exponentials"
LOG_COSH = "take x + F.softplus(-2·x) − log 2 in the place of log(cosh(x))"
BOUND = "bound what it is the exponential of (clamp), as a logarithm of a variance, a scale or a rate"
RATIO = ("bound the difference that it is the exponential of (clamp), as of two logarithms of probabilities, whose ratio it is, and look why "
         "these are so far apart")
SINGLE = "train with what it is the exponential of, or bound that"
TIMES_ZERO = "it gave Inf there in the forward pass, and 0·Inf is NaN, also behind a where that does not choose it"
PASSES = frozenset("view reshape_alias unsafe_view unsqueeze squeeze expand select slice index gather diagonal t transpose permute alias clone "
                   "to_copy mul masked_fill where".split())  # after which it is part of the same
BEFORE = PASSES | {"div", "sum", "mean", "clamp", "clamp_min", "clamp_max"}  # which may stand between a difference and its exponential
# What an exponential is part of, by what became of it, "exp" itself, "sum" of several, 1 and it ("one") or what may be 1 ("number"), and the
# op that takes this.
ENDS = {("exp", "log1p"): SOFTPLUS, ("one", "log"): SOFTPLUS, ("number", "log"): SOFTPLUS, ("sum", "log"): SOFTMAX}
QUOTIENTS = {"one": SIGMOID, "number": SIGMOID, "sum": SOFTMAX}  # where this divides


def takers_of(nodes):
    """Returns {id of a node: [(a node that takes what it gave, as which of its arguments)]}."""
    out = {}
    for node in nodes:
        for at, (before, _) in enumerate(node.next_functions):
            if before is not None:
                out.setdefault(id(before), []).append((node, at))
    return out


def up_to(node, own):
    """Returns {id: node} of a node and those before it whose ids are own."""
    out, waiting = {}, [node]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in out and id(one) in own:
            out[id(one)] = one
            waiting += [before for before, _ in one.next_functions]
    return out


def added(values, node, exponential):
    """Returns what became of an exponential in a sum: "sum" with others of the loss, "one" with 1, "number" with what may be 1, "exp" with
    a smaller number, as an eps."""
    if sum(before is not None for before, _ in node.next_functions) > 1:
        return "sum"
    x, y = values.of(exponential), values.of(node)
    if x is None or y is None or x.shape != y.shape or not bool((x < 1).any()):
        return "number"
    return "one" if bool((y >= 1)[x < 1].any()) else "exp"


def divided(values, node, exponential, state):
    """Returns what a quotient is whose divisor holds an exponential; None if that is not known."""
    first = node.next_functions[0][0] if op_of(node) == "div" else None
    if first is None or state == "one":
        return QUOTIENTS.get(state) if first is None or op_of(first) not in ("sub", "rsub") else TANH
    own = {id(one) for one in values.nodes}
    before = up_to(first, own)
    if any(op_of(one) in EXPONENTIALS for one in before.values()):
        return TANH if op_of(first) in ("sub", "rsub") else QUOTIENTS.get(state)
    of_same = any(one is first for node in up_to(exponential, own).values() for one, _ in node.next_functions)
    return QUOTIENTS.get(state) if state == "number" and of_same else None


def part_of(values, node):
    """Returns what to take in the place of what a node, an exponential or a sum of some, is part of, as text; None if that is not known."""
    takers, seen = takers_of(values.nodes), set()
    waiting = [(node, "sum" if op_of(node) == "sum" else "exp")]
    while waiting:
        one, state = waiting.pop(0)
        for taker, at in takers.get(id(one), ()):
            op = op_of(taker)
            end = divided(values, taker, node, state) if op == "reciprocal" or op == "div" and at == 1 else ENDS.get((state, op))
            if op == "log" and op_of(node) == "cosh":
                return LOG_COSH
            if end is not None:
                return end
            after = became(values, one, taker, state)
            follow = [(taker, after)] if after else [(other, "exp") for other in in_divisor(values, taker)] if op == "div" else []
            for other, state_of in follow:
                if (id(other), state_of) not in seen:
                    seen.add((id(other), state_of))
                    waiting.append((other, state_of))
    return None


def in_divisor(values, node):
    """Returns the exponentials in the divisor of a quotient, as of one whose numerator is another."""
    divisor, own = node.next_functions[1][0], {id(one) for one in values.nodes}
    return [one for one in up_to(divisor, own).values() if op_of(one) in EXPONENTIALS]


def became(values, one, taker, state):
    """Returns what becomes, in a node that takes it, of what has become of an exponential; "" if it is part of something else there."""
    op = op_of(taker)
    if op == "add":
        return added(values, taker, one) if state == "exp" else "sum"
    if op in ("sum", "mean"):
        return "sum" if state == "exp" else ""
    return state if op in PASSES or op == "sub" and state == "exp" else ""


def is_of_difference(node):
    """Whether an exponential is one of a difference, or of a sum of some."""
    before = node.next_functions[0][0]
    while before is not None and op_of(before) in BEFORE:
        before = before.next_functions[0][0]
    return before is not None and op_of(before) == "sub"


def exponential_cure(values, node, out):
    """Returns what helps an exponential of a loss that overflows, as text. values: the Values of the loss. node, out: its own, and what it
    gave."""
    return part_of(values, node) or (SINGLE if out.numel() == 1 else RATIO if is_of_difference(node) else BOUND)
