# SPDX-License-Identifier: Apache-2.0
#
# ptxas as judge of the table of mma, wmma and tcgen05 instructions, dense and sparse: what the table has on an architecture must
# assemble there, and what it has only on other architectures must not; nor must neighbours that it has
# nowhere.   mma_names_test.py MMA_NAMES     Exits with 77 where there is no ptxas.
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PER_REGISTER = {"f16": 2, "bf16": 2, "tf32": 1, "f32": 1, "f64": 1, "e4m3": 4, "e5m2": 4, "e3m2": 4,
                "e2m3": 4, "e2m1": 4, "s8": 4, "u8": 4, "s4": 8, "u4": 8, "b1": 32, "s32": 1}
FP8 = {"e4m3", "e5m2"}
NARROW = FP8 | {"e3m2", "e2m3", "e2m1"}
# Registers of a and b in wmma, by shape; d and c have 8 (f32) or 4 (f16).
WMMA = {("f16", "m16n16k16"): (8, 8), ("f16", "m8n32k16"): (8, 8), ("f16", "m32n8k16"): (8, 8),
        ("bf16", "m16n16k16"): (4, 4), ("bf16", "m8n32k16"): (2, 8), ("bf16", "m32n8k16"): (8, 2),
        ("tf32", "m16n16k8"): (4, 4), ("f64", "m8n8k4"): (1, 1)}
NOWHERE = ["mma.m16n8k16.f16.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f16", "mma.m16n8k16.f16.bf16.bf16.f16",
           "mma.m16n8k16.f32.f16.bf16.f32", "mma.m16n8k8.f32.e4m3.e4m3.f32", "mma.m16n8k4.f32.f16.f16.f32",
           "mma.m16n8k16.f32.tf32.tf32.f32", "mma.m16n8k32.f32.f16.f16.f32", "mma.m8n8k8.f64.f64.f64.f64",
           "mma.m16n8k16.f32.e3m2.e3m2.f32", "wmma.m16n16k16.f32.tf32.tf32.f32", "mma.m8n8k4.f16.f16.f16.f32",
           "wmma.m16n16k16.f16.bf16.bf16.f16", "mma.m16n8k16.s32.s4.s4.s32", "mma.m16n8k32.s32.s8.s4.s32",
           "mma.m16n8k32.satfinite.f32.e4m3.e4m3.f32", "mma.m16n8k64.s32.s8.s8.s32",
           "mma.m16n8k256.satfinite.s32.b1.b1.s32.and.popc", "mma.m16n8k16.rz.f32.f16.f16.f32",
           "mma.sp.m16n8k8.f32.f16.f16.f32", "mma.sp.m16n8k64.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.e4m3.e4m3.f32",
           "mma.sp.m16n8k32.f16.bf16.bf16.f16", "mma.sp.m16n8k4.f32.tf32.tf32.f32",
           "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0",
           "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue4m3",
           "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
           "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0",
           "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3",
           "mma.m16n8k32.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
           "mma.sp.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"]
FAMILIES = r"mma\.sp|mma|wmma|tcgen05\.sp|tcgen05"
# Instructions of PTX 9.1, which the ptxas that judges may not know: they are left out of what it judges.
NEWER = re.compile(r"mma.*scale_vec::4X.*\.ue8m0$")
# What a name may say besides: every instruction of the table of those types has it.
VARIANTS = {"s8": ["satfinite"], "u8": ["satfinite"], "s4": ["satfinite"], "u4": ["satfinite"],
            "f64": ["rn", "rz", "rm", "rp"]}


def registers(count, kind):
    """A vector operand of fresh registers; declarations are left to the caller."""
    prefix = {"f32": "%f", "f64": "%d"}.get(kind, "%r")
    return "{" + ", ".join(f"{prefix}{i}" for i in range(count)) + "}"


def ptx_kind(name):
    return name if name in ("f32", "f64") else "b32"


def mma_line(shape, d, a, b, c, sparse=False, variant="", ending=""):
    per_register = PER_REGISTER | ({"e2m1": 8} if "mxf4" in variant else {})
    m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    if shape == "m8n8k4" and a == "f16":
        counts = {"a": 2, "b": 2, "d": 4 if d == "f16" else 8, "c": 4 if c == "f16" else 8}
    else:
        counts = {"a": m * k // 32 // per_register[a] // (2 if sparse else 1), "b": k * n // 32 // per_register[b],
                  "d": m * n // 32 // PER_REGISTER[d], "c": m * n // 32 // PER_REGISTER[c]}
    scaled = "block_scale" in variant
    kind = ".kind::f8f6f4" if {a, b} & (NARROW - FP8) and not scaled else ""
    vectors = [registers(max(1, counts[x]), ptx_kind(t)) for x, t in (("d", d), ("a", a), ("b", b), ("c", c))]
    name = "mma.sp::ordered_metadata" if sparse else "mma"
    metadata = ", %r31, 0" if sparse else ""
    metadata += ", %r32, {0, 0}, %r33, {0, 0}" if scaled else ""
    return (f"{name}.sync.aligned.{shape}.row.col{kind}{variant}.{d}.{a}.{b}.{c}{ending} "
            f"{', '.join(vectors)}{metadata};")


def wmma_line(shape, d, a, b, c, variant=""):
    counts = WMMA.get((a, shape), (4, 4))
    accumulators = {"f32": 8, "f16": 4, "f64": 2}
    types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{b}.{c}"
    vectors = [registers(accumulators[d], ptx_kind(d)), registers(counts[0], ptx_kind(a)),
               registers(counts[1], ptx_kind(b)), registers(accumulators[c], ptx_kind(c))]
    return f"wmma.mma.sync.aligned.row.col.{shape}{variant}.{types} {', '.join(vectors)};"


def tcgen05_line(words, sparse):
    """Shape and types stand in the descriptor %r2; the metadata at [%r1], the scales at [%r3] and [%r4]."""
    scaled = "block_scale" in words
    kind = ".".join(words[:3]) if scaled else "kind::" + {"f16": "f16", "bf16": "f16", "tf32": "tf32"}.get(words[1], "f8f6f4")
    return (f"tcgen05.mma{'.sp' if sparse else ''}.cta_group::1.{kind} [%r0], %q0, %q1, {'[%r1], ' if sparse else ''}%r2, "
            f"{'[%r3], [%r4], ' if scaled else ''}%p0;")


def line_of(name):
    family, shape, *types = re.fullmatch(rf"({FAMILIES})\.(m\w+)\.(.*)", name).group(1, 2, 3)
    if family.startswith("tcgen05"):
        return tcgen05_line(types[0].split("."), sparse=family == "tcgen05.sp")
    types, popc, ending = types[0].partition(".and.popc") if ".and" in types[0] else types[0].partition(".xor.popc")
    words = types.split(".")
    if "block_scale" in words:
        return mma_line(shape, *words[3:7], sparse=family == "mma.sp", variant="." + ".".join(words[:3]), ending="." + words[7])
    variant = f".{words.pop(0)}" if len(words) == 5 else ""
    if family == "wmma":
        return wmma_line(shape, *words, variant=variant)
    return mma_line(shape, *words, sparse=family == "mma.sp", variant=variant, ending=popc + ending)


def variants_of(name):
    """The name with each word that its types let it have, and b1 with its other operation."""
    head, types = re.fullmatch(rf"((?:{FAMILIES})\.m\w+)\.(.*)", name).groups()
    out = [f"{head}.{word}.{types}" for word in VARIANTS.get(types.split(".")[1], [])]
    return out + ([name.replace(".and.", ".xor.")] if name.endswith(".and.popc") else [])


def assembles(ptxas, sm, names):
    body = "\n  ".join(line_of(name) for name in names)
    text = (f".version 9.0\n.target sm_{sm}\n.address_size 64\n.visible .entry k()\n{{\n"
            f"  .reg .b32 %r<40>;\n  .reg .f32 %f<32>;\n  .reg .f64 %d<32>;\n  .reg .b64 %q<2>;\n  .reg .pred %p<1>;\n"
            f"  {body}\n  ret;\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "k.ptx"
        source.write_text(text)
        done = subprocess.run([ptxas, f"-arch=sm_{sm}", "-o", os.devnull, str(source)],
                              capture_output=True, text=True)
    return done.returncode == 0, done.stderr.strip().splitlines()[:1]


def main():
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        print("no ptxas")
        sys.exit(77)
    table, lines, wrong = {}, set(), []
    for line in subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines():
        sm, name, ptx = line.split()
        if name.startswith("wgmma."):
            continue  # its operands are descriptors, which this test does not write
        if not line_of(name).startswith(ptx + " "):
            wrong.append(f"{name}: its PTX is {ptx}, by this test {line_of(name).split()[0]}")
        is_new = (sm, line_of(name)) not in lines  # PTX has no types and shapes of tcgen05
        lines.add((sm, line_of(name)))
        if is_new and not NEWER.match(name):
            table.setdefault(sm, []).extend([name, *variants_of(name)])
    everywhere = sorted({name for names in table.values() for name in names})
    # An architecture that this ptxas no longer knows assembles nothing at all, not even an empty kernel.
    known = [sm for sm in table if assembles(ptxas, sm, [])[0]]
    jobs = []
    for sm in known:
        jobs += [(sm, name, True) for name in table[sm]]
        jobs += [(sm, name, False) for name in everywhere if name not in table[sm]]
        jobs += [(sm, name, False) for name in NOWHERE]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # All of an architecture's in one file first: one call where they are right.
        whole = dict(zip(known, pool.map(lambda sm: assembles(ptxas, sm, table[sm])[0], known)))
        rest = [job for job in jobs if not (job[2] and whole[job[0]])]
        for (sm, name, want), (got, error) in zip(rest, pool.map(lambda j: assembles(ptxas, j[0], [j[1]]), rest)):
            if got != want:
                wrong.append(f"sm_{sm} {name}: the table {'has' if want else 'lacks'} it, ptxas "
                             f"{'takes it' if got else 'refuses: ' + ' '.join(error)}")
    print("\n".join(wrong))
    print(f"{len(jobs)} names on {len(known)} architectures, {len(wrong)} wrong")
    sys.exit(1 if wrong or len(known) < 5 or len(jobs) < 500 else 0)


if __name__ == "__main__":
    main()
