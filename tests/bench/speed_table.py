# SPDX-License-Identifier: Apache-2.0
#
# Writes the speed table of emulate/README.md, between its two marker comments, from the file of `./dev bench --json FILE`
# and, beneath, from that of `./dev bench --peers FILE`: each goal, what was measured at its level, and the limit of the
# same run. Products and trainings must be measured on one thread; their rows are taken from the file of
# `BINADE_THREADS=1 ./dev bench --json PRODUCTS --benchmark_filter='gemm|train'` where that is given.
#    speed_table.py JSON [PEERS_JSON] [--products PRODUCTS] [--readme FILE]
import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "emulate/README.md"
BEGIN = "<!-- begin of what tests/bench/speed_table.py writes -->"
END = "<!-- end of what tests/bench/speed_table.py writes -->"
LEVELS = {"avx2": "AVX2", "avx512": "AVX-512"}
# In names of benchmarks: a level that has columns, and any level.
VECTORS = f"({'|'.join(LEVELS)})"
ANY = f"({'|'.join(['reference', 'portable', *LEVELS])})"
IN_L2, FROM_DRAM = "in L2", "from DRAM"
SIZES = {1 << 14: IN_L2, 1 << 24: FROM_DRAM, 1 << 26: FROM_DRAM}

TO_NEAREST, TO_ODD = "ties_to_even", "(ties_to_away|toward_\\w+|to_odd)"
SHORT = "(binary16|bfloat16|e5m2|e4m3)"


@dataclass
class Goal:
    """The rows whose work matches, at a size, and what each may take; None: no goal."""
    work: str
    rows: str
    size: str
    avx2: float | None = None
    avx512: float | None = None
    unit: str = "×"  # of the limit's time; "ns" an element; "rate": of independent threads' rate, at least
    limit: str = "pass"


GOALS = [
    Goal("quantize with all counts, to nearest even", rf"quantize/\w+/{TO_NEAREST}", FROM_DRAM,
         1.35, 1.2, limit="memcpy"),
    Goal("quantize, other deterministic roundings", rf"quantize/\w+/{TO_ODD}", FROM_DRAM,
         1.8, 1.4, limit="memcpy"),
    Goal("quantize, stochastic", r"quantize/\w+/stochastic", IN_L2, 1.4, 0.8, "ns", "memcpy"),
    Goal("quantize, stochastic", r"quantize/\w+/stochastic", FROM_DRAM, 1.8, 1.0, "ns", "memcpy"),
    Goal("encode to 8 and 16 bits, to nearest even", rf"encode/{SHORT}/{TO_NEAREST}", FROM_DRAM,
         1.5, 1.3),
    Goal("encode, other deterministic roundings", rf"encode/{SHORT}/{TO_ODD}", FROM_DRAM),
    Goal("decode from 8 and 16 bits", rf"decode/{SHORT}", FROM_DRAM),
    Goal("tensors to mxfp8 and nvfp4, values", r"block_values/(mxfp8_e4m3|nvfp4)", FROM_DRAM, 2.2, 1.6),
    Goal("tensors to mxfp8 codes and packed nvfp4", r"block_codes/(mxfp8_e4m3|nvfp4)", FROM_DRAM,
         2.6, 1.8),
    Goal("tensors to fp8_1x128, values", r"block_values/fp8_1x128", FROM_DRAM, 1.8, 1.4),
    Goal("tensors to fp8_1x128 codes", r"block_codes/fp8_1x128", FROM_DRAM),
    Goal("blocks down columns, values and codes", r"block_\w+/mxfp8_e4m3_columns", FROM_DRAM, 3.3,
         2.4),
    Goal("unscale", r"unscale/\w+", FROM_DRAM, limit="memcpy"),
    Goal("random words", r"random_words", IN_L2, unit="ns"),
    Goal("binary16 add, multiply, to nearest even",
         rf"elementwise/(add|multiply)/binary16/{TO_NEAREST}", FROM_DRAM, 1.5, 1.3),
    Goal("binary16 multiply_add, to nearest even",
         rf"elementwise/multiply_add/binary16/{TO_NEAREST}", FROM_DRAM, 2, 1.3),
    Goal("binary16 add, multiply, multiply_add, other deterministic roundings",
         rf"elementwise/(add|multiply|multiply_add)/binary16/{TO_ODD}", FROM_DRAM, 3, 1.3),
    Goal("range counts and masses", r"range/F32/0", IN_L2, 1.3, 1.0, "ns", "read"),
    Goal("range counts and masses", r"range/F32/0", FROM_DRAM, 1.7, 1.2, "ns", "read"),
    Goal("range with five error columns", r"range/F32/5", FROM_DRAM, 4, 2.4, "ns", "read"),
    Goal("histogram of bfloat16, of e4m3", r"range/(BF16|F8_E4M3)/0", FROM_DRAM, unit="ns",
         limit="read"),
    Goal("any NaN or infinity among 8, 16 and 32 bits", r"any_nonfinite/\w+", IN_L2, limit="read"),
    Goal("any NaN or infinity among 8, 16 and 32 bits", r"any_nonfinite/\w+", FROM_DRAM, limit="read"),
    Goal("rate on all threads, of independent threads'", r".*/threads:\d+", FROM_DRAM, 0.9, 0.9,
         "rate", "independent"),
]

WHOLE, SMALL = "1024x1024x1024", "128x128x64"


@dataclass
class ProductGoal:
    """Products whose names match, and the GMAC/s that each is to reach; None: no goal."""
    work: str
    rows: str
    avx2: float | None = None
    avx512: float | None = None


PRODUCT_GOALS = [
    ProductGoal("f16 into f32, L = 16", r"sm_90/mma\.m16n8k16\.f32\.f16\.f16\.f32", 8, 20),
    ProductGoal("f16 into f32, L = 8", r"sm_80/mma\.m16n8k16\.f32\.f16\.f16\.f32", 7, 15),
    ProductGoal("f16 into f32, L = 4", r"sm_70/wmma\.m16n16k16\.f32\.f16\.f16\.f32", 4.5, 10),
    ProductGoal("f16 into f16", r"sm_90/mma\.m16n8k16\.f16\.f16\.f16\.f16", 8, 15),
    ProductGoal("FP8 into f32 and f16", r"(?!.*\.sp\.).*e4m3.*", 8, 15),
    ProductGoal("bf16, tf32 into f32", r"(?!.*\.sp\.).*\.(bf16|tf32)\..*", 6, 12),
    ProductGoal("f32 fma chain", r"chain/fma\.rn\.f32.*", 8, 16),
    ProductGoal("f16 fma chain", r"chain/fma\.rn\.f16.*", 4, 8),
    ProductGoal("f64 fma chain", r"chain/fma\.rn\.f64.*"),
    ProductGoal("sparse, the half that is left out counted too", r".*\.sp\..*"),
    ProductGoal("f16 by m8n8k4 of sm_80", r"sm_80/mma\.m8n8k4\..*"),
    ProductGoal("s8, u8, s4 into s32", r".*\.s32\.(s8|u8|s4)\..*"),
    ProductGoal("b1 into s32", r".*\.b1\..*"),
]


# The suffixes of products with further work. They may take MOST_ON_TOP more time than the product without.
ON_TOP = {"promote4": "promoted every 4 instructions", "split4": "K in 4 parts", "epilogue": "alpha, C and a bias"}
MOST_ON_TOP = 0.1
LEAST_OF_TAME = 0.25
# The benchmark's counters for hard operands, shares of their multiply-adds, and the columns' names.
DETOURS = {"wide": "wide exponents", "alone": "carried sums", "settled": "decided by Inf, NaN", "defined": "definition"}
TRAINING_GOAL = 4


@dataclass
class Row:
    work: str  # with /threads:T
    level: str
    size: str
    ns: float
    limit: float

    def measured(self, unit):
        return {"×": self.ns / self.limit, "ns": self.ns, "rate": self.limit / self.ns}[unit]


# What tests/bench/mma_sim.py printed on the machine that the sentence names.
MMA_SIM = ("MMA-Sim 2.1.1 (arXiv 2511.10909) and binade, 256 × 256 × 256, every bit equal, in one run on one core of an AMD EPYC "
           "(family 25, model 17; AVX-512) of `tests/bench/mma_sim.py`: f16 into f32 0.017 and 8.9, `kind::mxf8f6f4` of e4m3 0.013 "
           "and 8.4, `kind::mxf4nvf4` 0.035 and 9.5.")

def rows_of(benchmarks):
    out = []
    for x in benchmarks:
        name = re.fullmatch(rf"(.+)/{ANY}/(\d+)(/threads:\d+)?", x["name"])
        if name and int(name[3]) in SIZES and "ns_per_element" in x and x.get("run_type", "iteration") == "iteration":
            out.append(Row(name[1] + (name[4] or ""), name[2], SIZES[int(name[3])],
                           x["ns_per_element"], x["limit_ns"]))
    return out


def at_level(rows, level, levels):
    """Of each work the row at the level, or at the highest below it that has the kernel."""
    best = {}
    for row in rows:
        allowed = row.level in levels and levels.index(row.level) <= levels.index(level)
        if allowed and (row.work not in best or
                        levels.index(row.level) > levels.index(best[row.work].level)):
            best[row.work] = row
    return list(best.values())


def number(x, unit):
    return f"{x:.2f} ns" if unit == "ns" else f"{x:.2f} ×"


def told_goal(goal, level):
    wanted = getattr(goal, level)
    return "–" if wanted is None else ("≥ " if goal.unit == "rate" else "≤ ") + \
        f"{wanted:g} {'ns' if goal.unit == 'ns' else '×'}"


def told_measured(goal, rows, level, levels):
    """"1.21 to 1.30 ×, met", or by how much which of them missed."""
    if level not in levels:
        return "not measured"
    found = at_level(rows, level, levels)
    if not found:
        return "not measured"
    values = [row.measured(goal.unit) for row in found]
    low, high = number(min(values), goal.unit), number(max(values), goal.unit)
    out = high if low == high else f"{low.split()[0]} to {high}"
    below = sorted({row.level for row in found} - {level})
    if below:
        out += " (" + ", ".join(LEVELS.get(name, name) for name in below) + ")"
    wanted = getattr(goal, level)
    if wanted is None:
        return out
    at_least = goal.unit == "rate"
    worst = min(found, key=lambda row: row.measured(goal.unit) * (1 if at_least else -1))
    missed = worst.measured(goal.unit) / wanted - 1
    missed = -missed if at_least else missed
    missing = [row for row in found if
               (row.measured(goal.unit) < wanted if at_least else row.measured(goal.unit) > wanted)]
    if not missing:
        return out + ", met"
    by = f"missed by {missed:.0%}" if missed < 1 else f"{missed + 1:.1f} times the goal"
    return f"{out}, **{by}**" + (
        f" ({len(missing)} of {len(found)}; most: {shown(worst.work)})" if len(found) > 1 else "")


def shown(work):
    return " ".join(work.split("/")[1:] if "threads" not in work else work.split("/")[:-1])


def told_limit(goal, rows):
    if not rows:
        return "–"
    values = sorted(row.limit for row in rows)
    low, high = f"{values[0]:.2f}", f"{values[-1]:.2f}"
    name = {"memcpy": "memcpy", "pass": "pass of equal traffic", "read": "read pass",
            "independent": "as many independent threads"}[goal.limit]
    return f"{name}, {low if low == high else f'{low} to {high}'} ns"


def goal_table(rows, levels):
    columns = ["work", "elements", *(f"{what} {name}" for name in LEVELS.values() for what in ("goal", "measured")), "limit"]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for goal in GOALS:
        of_goal = [row for row in rows if re.fullmatch(goal.rows, row.work) and
                   row.size == goal.size and row.level in LEVELS | {"portable": ""}]
        cells = [goal.work, goal.size]
        for level in LEVELS:
            cells += [told_goal(goal, level), told_measured(goal, of_goal, level, levels)]
        yield "| " + " | ".join([*cells, told_limit(goal, of_goal)]) + " |"


def product_rates(benchmarks):
    """{(product, level, shape): (GMAC/s, times a float product's rate)}."""
    out = {}
    for x in benchmarks:
        name = re.fullmatch(rf"gemm/(.+)/{ANY}/(\d+x\d+x\d+)", x["name"])
        if name and "of_float_product" in x and x.get("run_type", "iteration") == "iteration":
            out[name.groups()] = x["GMAC_per_s"], x["of_float_product"]
    return out


def on_top_table(benchmarks, levels):
    """The table of how much longer a product takes with a promotion, a split or an epilogue than without, in turns with it."""
    found = {}
    for x in benchmarks:
        name = re.fullmatch(rf"gemm/.+\+(\w+)/{VECTORS}/{WHOLE}", x["name"])
        if name and "on_top" in x and x.get("run_type", "iteration") == "iteration":
            found[name.groups()] = x["on_top"]
    yield f"| f16 into f32, L = 16, with | goal | {' | '.join(LEVELS.values())} |"
    yield "|---" * (len(LEVELS) + 2) + "|"
    for suffix, what in ON_TOP.items():
        cells = [what, f"≤ {MOST_ON_TOP:.0%} on top"]
        for level in LEVELS:
            more = found.get((suffix, level)) if level in levels else None
            cells.append("not measured" if more is None else
                         f"{max(more, 0):.0%}, " + ("met" if more <= MOST_ON_TOP else "**missed**"))
        yield "| " + " | ".join(cells) + " |"


def hurt_table(benchmarks, levels):
    """The table of hard operands: the rate as a multiple of that with ordinary ones, and the shares of multiply-adds that left
    the kernel's usual path, which are the same at every level."""
    found, shares = {}, {}
    for x in benchmarks:
        name = re.fullmatch(rf"gemm/(.+)\+(\w+)/{VECTORS}/\d+x\d+x\d+", x["name"])
        if name and "of_tame" in x and x.get("run_type", "iteration") == "iteration":
            found[name[2], name[1], name[3]] = x["of_tame"]
            shares[name[2], name[1]] = [x[detour] for detour in DETOURS]
    yield f"| operands | product | {' | '.join([*LEVELS.values(), *DETOURS.values()])} |"
    yield "|---" * (len(LEVELS) + len(DETOURS) + 2) + "|"
    for what, product in dict.fromkeys((what, product) for what, product, _ in found):
        cells = [what.replace("_", " "), f"`{product.split('/')[1]}`"]
        for level in LEVELS:
            times = found.get((what, product, level)) if level in levels else None
            cells.append("not measured" if times is None else
                         f"{times:.2f} ×" + ("" if times >= LEAST_OF_TAME else ", **missed**"))
        cells += [told_share(x) for x in shares[what, product]]
        yield "| " + " | ".join(cells) + " |"


def told_share(x):
    return "–" if x == 0 else "< 0.1 %" if x < 0.001 else f"{100 * x:.1f} %"


def training_table(benchmarks):
    """The table of trainings: a line for each workload, with the time of a step in each format as a multiple of binary32's."""
    found = {}
    for x in benchmarks:
        name = re.fullmatch(r"train/(\w+)/(\w+)/(\w+)", x["name"])
        if name and x.get("run_type", "iteration") == "iteration":
            found.setdefault(name[1], {})[name[2]] = x
    formats = list(dict.fromkeys(name for row in found.values() for name in row))
    yield f"| training: time of a step as a multiple of binary32's (goal ≤ {TRAINING_GOAL}) | binary32 | {' | '.join(formats[1:])} |"
    yield "|---" * (len(formats) + 1) + "|"
    for workload, row in found.items():
        reference = row["binary32"].get("ms_per_step")  # rows that were skipped have no measurements
        cells = [workload, "not measured" if reference is None else f"{reference:.2f} ms"]
        for name in formats[1:]:
            times = row.get(name, {}).get("of_binary32")
            cells.append("not measured" if times is None else f"{times:.1f} ×")
        yield "| " + " | ".join(cells) + " |"


def told_rate(goal, rates, level, shape, levels):
    if level not in levels:
        return "not measured"
    found = {name: rate for (name, at, size), (rate, _) in rates.items()
             if at == level and size == shape and re.fullmatch(goal.rows, name)}
    if not found:
        return "not measured"
    low, high = f"{min(found.values()):.1f}", f"{max(found.values()):.1f}"
    out = low if low == high else f"{low} to {high}"
    wanted = getattr(goal, level)
    if shape != WHOLE or wanted is None:
        return out
    missed = 1 - min(found.values()) / wanted
    return f"{out}, met" if missed <= 0 else f"{out}, **missed by {missed:.0%}**"


def product_table(rates, levels):
    yield (f"Whole products, {WHOLE.replace('x', ' × ')} and {SMALL.replace('x', ' × ')}, in 10⁹ multiply-adds a second "
           "of processor time, with decoding and packing of the operands, on one thread: `BINADE_THREADS=1 ./dev bench "
           "--json FILE --benchmark_filter='gemm|train'`.")
    yield ""
    columns = [f"{what} {LEVELS[level]}" for level in LEVELS for what in ("goal", "measured", "small,")]
    yield "| product | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for goal in PRODUCT_GOALS:
        cells = [goal.work]
        for level in LEVELS:
            wanted = getattr(goal, level)
            cells += ["–" if wanted is None else f"≥ {wanted:g}",
                      told_rate(goal, rates, level, WHOLE, levels),
                      told_rate(goal, rates, level, SMALL, levels)]
        yield "| " + " | ".join(cells) + " |"
    plain = sorted(rate / times for rate, times in rates.values())
    slow = sorted(rate for (name, level, _), (rate, _) in rates.items()
                  if level == "reference" and not name.startswith("chain"))
    yield ""
    yield (f"A plain product of floats, compiled with the same flags: {plain[len(plain) // 2]:.1f}. The definition, "
           f"`dot`: {slow[0]:.2f} to {slow[-1]:.2f}. {MMA_SIM}")


def peer_table(peers, rows, levels):
    """A line of a peer's work: its time and ours at the fastest level, at both sizes."""
    yield "| who | what | in L2 | ours | from DRAM | ours | our row |"
    yield "|---|---|---|---|---|---|---|"
    lines = {}
    for x in peers["rows"]:
        lines.setdefault((x["peer"], x["what"], x["ours"]), {})[x["n"]] = x["ns_per_element"]
    for (peer, what, work), times in lines.items():
        cells = [peer, what]
        for size in (IN_L2, FROM_DRAM):
            ours = at_level([row for row in rows if row.work == work and row.size == size],
                            levels[-1], levels)
            cells.append(f"{times[size]:.2f} ns" if size in times else "–")
            cells.append(f"{ours[0].ns:.2f} ns" if ours else "not measured")
        yield "| " + " | ".join([*cells, f"`{work}`"]) + " |"
    for x in peers["quoted"]:
        yield (f"| {x['peer']} | from another machine (Zen 3) | – | – | {x['ns_per_element']} ns | – "
               f"| `{x['ours']}` |")


def text_of(bench, peers):
    context, rows = bench["context"], rows_of(bench["benchmarks"])
    levels = context["levels"].split()
    if not rows:
        sys.exit("no row of a kernel in that file")
    yield (f"Measured on {context['processor']} ({context['num_cpus']} processors), compiled by "
           f"{context['compiler']}, revision {context['revision']}: `./dev bench --json FILE`. Cells are the time of "
           "an element, or that time as a multiple of the limit's, which was measured in turns with it. Counts and "
           "results are those of the definition.")
    yield ""
    yield from goal_table(rows, levels)
    rates = product_rates(bench["benchmarks"])
    if rates:
        yield ""
        yield from product_table(rates, levels)
        yield ""
        yield from on_top_table(bench["benchmarks"], levels)
        yield ""
        yield (f"Operands that are hard for a kernel, 512 × 512 × 512: the rate as a multiple of that with ordinary operands "
               f"in the same run, which must not fall below {LEAST_OF_TAME} (`tests/bench/matmul_bench.cpp` says what the "
               "operands are). The other columns are the shares of multiply-adds that leave the kernel's usual path: in "
               "blocks computed with 32-bit exponents, in sums without room in 32 bits, in elements that infinities or NaNs "
               "decide, and in elements left to the definition.")
        yield ""
        yield from hurt_table(bench["benchmarks"], levels)
    if any(x["name"].startswith("train/") for x in bench["benchmarks"]):
        yield ""
        yield from training_table(bench["benchmarks"])
    if peers:
        versions = ", ".join(f"{name} {version}" for name, version in peers["context"].items())
        yield ""
        yield f"Other people's code on the same arrays, which counts nothing ({versions}): `./dev bench --peers FILE`."
        yield ""
        yield from peer_table(peers, rows, levels)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("bench", type=Path)
    arguments.add_argument("peers", type=Path, nargs="?")
    arguments.add_argument("--products", type=Path)
    arguments.add_argument("--readme", type=Path, default=README)
    x = arguments.parse_args()
    readme = x.readme.read_text(encoding="utf-8")
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{x.readme} lacks the comments between which the table stands:\n{BEGIN}\n{END}")
    bench = json.loads(x.bench.read_text())
    if x.products:
        products = json.loads(x.products.read_text())["benchmarks"]
        names = {row["name"] for row in products}
        bench["benchmarks"] = [row for row in bench["benchmarks"] if row["name"] not in names] + products
    text = "\n".join(text_of(bench,
                             json.loads(x.peers.read_text()) if x.peers else None))
    x.readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


main()
