# SPDX-License-Identifier: Apache-2.0
#
# Runs speed_table.py on made-up measurements: a goal that is met, one that is missed and by how much, a level that the machine
# lacks, rows that could not run, a level that takes its kernel from the level below. The README around the table must not change.   speed_table_test.py
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("speed_table.py")
BEGIN, END = (f"<!-- {word} of what tests/bench/speed_table.py writes -->" for word in ("begin", "end"))


def row(name, ns, limit):
    return {"name": name, "run_type": "iteration", "ns_per_element": ns, "limit_ns": limit}


def rate(name, gmacs, times):
    return {"name": name, "run_type": "iteration", "GMAC_per_s": gmacs, "of_float_product": times}


BENCH = {
    "context": {"processor": "a processor", "num_cpus": 2, "compiler": "a compiler",
                "revision": "abc", "levels": "reference portable avx2"},
    "benchmarks": [
        row("quantize/binary16/ties_to_even/avx2/67108864", 0.52, 0.4),
        row("quantize/binary16/ties_to_even/portable/67108864", 5.2, 0.4),
        row("quantize/e4m3/to_odd/avx2/67108864", 0.4, 0.4),
        row("quantize/e4m3/toward_zero/avx2/67108864", 0.9, 0.4),
        row("range/F32/0/portable/16384", 3.9, 0.1),
        row("quantize/binary16/ties_to_even/avx2/67108864/threads:2", 0.5, 0.4),
        rate("gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32/avx2/1024x1024x1024", 10.4, 5.2),
        rate("gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32/avx2/128x128x64", 5.9, 2.95),
        rate("gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32/reference/64x64x64", 0.045, 0.0225),
        rate("gemm/sm_90/mma.m16n8k16.f32.bf16.bf16.f32/avx2/1024x1024x1024", 4.5, 2.25),
        rate("gemm/sm_90/mma.m16n8k8.f32.tf32.tf32.f32/avx2/1024x1024x1024", 7.5, 3.75),
        {**rate("gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32+promote4/avx2/1024x1024x1024", 10, 5),
         "on_top": 0.04},
        {**rate("gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32+split4/avx2/1024x1024x1024", 8, 4),
         "on_top": 0.3},
        {"name": "gemm/sm_90/mma.m16n8k16.f32.f16.f16.f32+infinite_rows/avx2/512x512x512",
         "run_type": "iteration", "GMAC_per_s": 9, "of_tame": 0.9,
         "wide": 0, "alone": 0, "settled": 0.0117, "defined": 0.0001},
        {"name": "gemm/chain/fma.rn.f16.f16.f16.f16+overflows/avx2/512x512x512",
         "run_type": "iteration", "GMAC_per_s": 0.1, "of_tame": 0.2,
         "wide": 1, "alone": 0.5, "settled": 0, "defined": 0},
        {"name": "train/digits_mlp/binary32/avx2", "ms_per_step": 0.6, "of_binary32": 1.01},
        {"name": "train/digits_mlp/e4m3/avx2", "ms_per_step": 1.2, "of_binary32": 1.96},
        {"name": "train/fashion_cnn/binary32/avx2", "error_occurred": True, "error_message": "no data"},
        {"name": "train/fashion_cnn/e4m3/avx2", "error_occurred": True, "error_message": "no data"},
        {"name": "range/F32/5/portable/16384", "error_occurred": True, "error_message": "no memory"},
    ],
}
PEERS = {"context": {"NumPy": "2"},
         "rows": [{"peer": "NumPy", "what": "float16 and back", "n": "from DRAM",
                   "ours": "quantize/binary16/ties_to_even", "ns_per_element": 30.6}],
         "quoted": [{"peer": "CPFloat", "ours": "quantize/e4m3/ties_to_even",
                     "ns_per_element": "9.8"}]}
EXPECTED = [
    "Measured on a processor (2 processors), compiled by a compiler, revision abc",
    "| work | elements | goal AVX2 | measured AVX2 | goal AVX-512 | measured AVX-512 | limit |\n|---|---|---|---|---|---|---|\n",
    "| from DRAM | ≤ 1.35 × | 1.30 ×, met | ≤ 1.2 × | not measured | memcpy, 0.40 ns |",
    "| ≤ 1.8 × | 1.00 to 2.25 ×, **missed by 25%** (1 of 2; most: e4m3 toward_zero) |",
    "| ≤ 1.3 ns | 3.90 ns (portable), **3.0 times the goal** | ≤ 1 ns | not measured |",
    "| ≥ 0.9 × | 0.80 ×, **missed by 11%** |",
    "| f16 into f32, L = 16 | ≥ 8 | 10.4, met | 5.9 | ≥ 20 | not measured | not measured |",
    "| bf16, tf32 into f32 | ≥ 6 | 4.5 to 7.5, **missed by 25%** | not measured |",
    "`dot`: 0.04 to 0.04.",
    "| promoted every 4 instructions | ≤ 10% on top | 4%, met | not measured |",
    "| K in 4 parts | ≤ 10% on top | 30%, **missed** | not measured |",
    "| alpha, C and a bias | ≤ 10% on top | not measured | not measured |",
    "| infinite rows | `mma.m16n8k16.f32.f16.f16.f32` | 0.90 × | not measured | – | – | 1.2 % | < 0.1 % |",
    "| overflows | `fma.rn.f16.f16.f16.f16` | 0.20 ×, **missed** | not measured | 100.0 % | 50.0 % | – | – |",
    "| digits_mlp | 0.60 ms | 2.0 × |",
    "| fashion_cnn | not measured | not measured |",
    "| NumPy | float16 and back | – | not measured | 30.60 ns | 0.52 ns |",
    "| CPFloat | from another machine (Zen 3) | – | – | 9.8 ns |",
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench, peers, readme = (Path(folder, name) for name in ("bench", "peers", "README.md"))
        bench.write_text(json.dumps(BENCH))
        peers.write_text(json.dumps(PEERS))
        readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
        for _ in range(2):  # what it wrote it writes again
            subprocess.run([sys.executable, SCRIPT, bench, peers, "--readme", readme], check=True)
        text = readme.read_text(encoding="utf-8")
        missing = [part for part in EXPECTED if text.count(part) != 1]
        whole = text.startswith(f"before\n{BEGIN}\n") and text.endswith(f"\n{END}\nafter\n")
        if missing or not whole or "old" in text:
            sys.exit("\n".join([text, "lacks:", *missing]))
        readme.write_text("no comments", encoding="utf-8")
        run = subprocess.run([sys.executable, SCRIPT, bench, "--readme", readme], capture_output=True)
        if run.returncode == 0:
            sys.exit("a README without the comments was taken")
    print(f"{len(EXPECTED)} parts of the table found")


main()
