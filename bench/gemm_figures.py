#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper on GEMM over many GPUs (doc/gemm.md), on simulated nodes of Summit.

    bench/gemm_figures.py --tulle build/tulle [tiles devices strong weak]

A node is two PEs, one a socket, each with its memory and up to three devices of 16 GB: 50 GB/s to the host and to each
other, 7.2 Tflop/s (the practical peak that the paper names), 64 GB/s between the sockets (X-bus). Matrices have shapes
only; links serve one transfer after the other. Bytes are exact; times are a model.
"""
import argparse
import json
import math
import subprocess
import sys

ENGINE = "sim:platform=summit,node=2,near_bw=64G,pair_bw=64G,data=none,sharing=queue,memory=135G,room=%d"
DEVICE = "model:mem=%s,link=50G,peer=50G,flops=7.2T"
PEAK = 7200.0  # Gflop/s of a device


def grid_of(pes):
    rows = int(math.sqrt(pes))
    while pes % rows:
        rows -= 1
    return rows, pes // rows


def run(given, n, tile, pes, devices, memory="15G", more=()):
    """The fields of the JSON of one product; tiles are about tile x tile, as a PE has equally many in both directions."""
    rows, cols = grid_of(pes)
    tiles = max(1, round(n / math.sqrt(rows * cols) / tile))
    words = [given.tulle, "gemm", "--size", n, "--tiles", tiles, "--pes", pes, "--grid", "%dx%d" % (rows, cols), "--comm",
             ENGINE % (2e9 + 60 * n * n / pes), "--device", DEVICE % memory, "--devices", devices, "--alg", "stationary-c", "--reps", 1, "--json",
             "--quiet"] + list(more)
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(map(str, words)), done.stderr))
    return json.loads(done.stdout.splitlines()[0])


def rate(line, n):
    return 2e-9 * n ** 3 / line["seconds_reused_plan"]


def tile_row(given, tile):
    n = 16384
    line = run(given, n, tile, 1, 1, memory="2G")
    return "| %d | %.0f | %.2f | %.1f |" % (tile, rate(line, n), rate(line, n) / PEAK, loads(line))


def tiles(given):
    print("| tile | Gflop/s of one device | of its peak | loads, GB |")
    print("|---|---|---|---|")
    for tile in (256, 512, 1024, 2048, 4096):
        print(tile_row(given, tile), flush=True)


def loads(line):
    return (line["device"]["upload_bytes"] + line["device"]["peer_bytes"]) * 1e-9


def devices(given):
    print("| devices | PEs | Gflop/s | of the peak | loads, GB | of the model | from sisters |")
    print("|---|---|---|---|---|---|---|")
    n = 32768
    for pes, each in ((1, 1), (1, 2), (1, 3), (2, 2), (1, 5), (2, 3)):
        line = run(given, n, 1024, pes, each)
        d = line["device"]
        model = (line["blocks"]["upload_bytes"] + line["blocks"]["peer_bytes"]) * 1e-9
        print("| %d | %d | %.0f | %.2f | %.1f | %.3f | %.0f %% |" %
              (pes * each, pes, rate(line, n), rate(line, n) / PEAK / pes / each, loads(line), loads(line) / model,
               100 * d["peer_bytes"] / (d["upload_bytes"] + d["peer_bytes"])), flush=True)


def scaling(given, sizes, tile):
    print("| devices | nodes | n | Tflop/s | of the peak | moved by the network, GB |")
    print("|---|---|---|---|---|---|")
    for pes, n in sizes:
        line = run(given, n, tile, pes, 3)
        print("| %d | %d | %d | %.1f | %.2f | %.1f |" %
              (3 * pes, pes // 2, n, rate(line, n) * 1e-3, rate(line, n) / PEAK / pes / 3,
               line["bytes_moved"] * 1e-9), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("figures", nargs="*", default=["tiles", "devices", "strong", "weak"])
    given = options.parse_args()
    figures = {"tiles": lambda: tiles(given),
               "devices": lambda: devices(given),
               "strong": lambda: scaling(given, [(p, 65536) for p in (2, 8, 32, 128)] +
                                         [(p, 131072) for p in (8, 32, 128)], 1024),
               "weak": lambda: scaling(given, [(p, 16384 * round(math.sqrt(p))) for p in (1, 4, 16, 64, 128)], 1024)}
    for name in given.figures:
        if name not in figures:
            sys.exit("there is no figure '%s': %s" % (name, ", ".join(figures)))
        print("\n%s\n" % name)
        figures[name]()


if __name__ == "__main__":
    main()
