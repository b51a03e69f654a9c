#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error and time of density matrices over the filter: submatrices one block column each, and combined.

    bench/submatrix.py [--tulle build/tulle] [--reps 3] [--pes 1] [--threads 2] [--set h2o_256_szv] [EPS ...]
    bench/submatrix.py --methods [EPS ...]         every method, and what auto takes
    bench/submatrix.py --cp2k CELLS [EPS ...]      CP2K's sign routines beside them: CELLS^3 molecules (cp2k_water.py)
    bench/submatrix.py --sizes [EPS ...]           submatrices of 256 and 864 molecules: rows, time a molecule
    bench/submatrix.py --linear [EPS ...]          generated boxes of 216 to 6859 molecules: rows, processor time
    bench/submatrix.py --strong CELLS [EPS ...]    CELLS^3 generated molecules on 40 to 1280 PEs, in virtual time
    bench/submatrix.py --weak CELLS [EPS ...]      the same with CELLS^3 molecules on 40 PEs, in proportion on more

The matrices are those of a converged calculation (TULLE_MATRICES); truth is a dense solution of the same
pair: the levels next to the gap and the sum of the occupied ones, for mu in the middle of the gap. Times are
of f(K) alone, which is what CP2K reports as its sign routine; plan included, least of the runs.
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile

import cp2k_water

HARTREE = 27211.386  # meV
TRUTH = {  # HOMO, LUMO, twice the sum of the occupied levels, electrons, atoms
    "h2o_256_szv": (-0.04891653, 0.29703010, -700.0454252713, 2048, 768),
    "h2o_864_szv": (-0.04769852, 0.29713023, -2356.6669620786, 6912, 2592),
}


# Nodes of 40 PEs, one a core, and a network of 12 GB/s, as in the paper; dense work at 8 Gflop/s.
MACHINE = ("sim:platform=fattree,node=40,flops=8G,memory=5G,cache=20G,far_bw=12G,near_bw=10G,leaf=64,"
           "launch=0,sharing=queue")
PES = (40, 80, 160, 320, 640, 1280)

METHODS = {"submatrix": "mu", "newton-schulz": "mu", "mcweeny": "mu", "tc2": "electrons", "trs4": "electrons",
           "auto": "mu"}


def density(options, matrices, *aim):
    """The report of the fastest of the runs; its time is f(K)'s, plan included."""
    command = [options.tulle, "density", *matrices, "--blocks", "6", "--pes", str(options.pes), "--threads",
               str(options.threads), "--json", "--quiet", *aim]
    best = None
    for _ in range(options.reps):
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        report["time"] = report["function"]["seconds"] + report["function"]["plan_seconds"]
        if best is None or report["time"] < best["time"]:
            best = report
    return best


def files(name):
    home = os.environ["TULLE_MATRICES"]
    return f"{home}/{name}_KS.mtx.gz", f"{home}/{name}_S.mtx.gz"


def run(options, name, eps, combine, electrons):
    low, high, _, count = TRUTH[name][:4]
    aim = ["--electrons", str(count)] if electrons else ["--mu", repr((low + high) / 2)]
    return density(options, files(name), "--filter", repr(eps), "--combine", combine, *aim)


def compare_methods(options):
    low, high, energy, electrons, atoms = TRUTH[options.set]
    print("| eps | method | used | iterations | s | Gflop | E - mu N, meV an atom | N - N0 | residual |")
    print("|---|---|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for method, given in METHODS.items():
            mu = (low + high) / 2
            aim = ["--mu", repr(mu)] if given == "mu" else ["--electrons", str(electrons)]
            r = density(options, files(options.set), "--filter", repr(eps), "--method", method, *aim)
            free = (r["energy"] - mu * r["electrons"] - (energy - mu * electrons)) * HARTREE / atoms
            print(f"| {eps:.0e} | {method} | {r['method']} | {r['iterations']} | {r['time']:.3f} |"
                  f" {r['flops'] * 1e-9:.2f} | {free:+.2g} | {r['electrons'] - electrons:+.2g} |"
                  f" {r['residual']:.1e} |", flush=True)


def compare_sizes(options):
    print("| eps | molecules | submatrices | mean rows | largest | s | ms a molecule |")
    print("|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for name, (_, _, _, electrons, atoms) in TRUTH.items():
            r = run(options, name, eps, "auto", False)
            f = r["function"]
            print(f"| {eps:.0e} | {atoms // 3} | {f['submatrices']} | {f['mean']:.1f} | {f['largest']} |"
                  f" {r['time']:.3f} | {3e3 * r['time'] / atoms:.3f} |", flush=True)
            assert abs(r["electrons"] - electrons) < 1e-3 * electrons


def sign(options, molecules, eps, *more):
    """The report of the sign of a generated box, and the processor time of the whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [options.tulle, "matfun", "sign:mu=0.05", f"water:n={molecules}", "--blocks", "6", "--filter", repr(eps),
               "--json", "--quiet", *more]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return report, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_linear(options):
    """Reading and distributing are in neither figure: they are those of a run without blocks off the diagonal."""
    print("| eps | molecules | submatrices | mean rows | largest | processor time, s | ms a molecule |"
          " outside of dense work |")
    print("|---|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for cells in (6, 9, 12, 15, 19):
            alone = ("--pes", "1", "--threads", "1")
            _, idle = sign(options, cells, 1e30, *alone)
            times = [sign(options, cells, eps, *alone, "--reps", "2") for _ in range(options.reps)]
            r, _ = times[0]
            # two executions and one plan, which is short
            best = min((time - idle) / 2 for _, time in times)
            outside = min(x["outside"] for x, _ in times)
            print(f"| {eps:.0e} | {cells ** 3} | {r['submatrices']} | {r['mean']:.1f} | {r['largest']} | {best:.3f} |"
                  f" {1e3 * best / cells ** 3:.3f} | {100 * outside:.1f} % |", flush=True)


def scaling_rows(options, eps, several, cells_of):
    """Rows in virtual time, a number of PEs each; efficiency relative to the first, by time a molecule."""
    first = None
    for pes in several:
        cells = cells_of(pes)
        r, _ = sign(options, cells, eps, "--comm", MACHINE, "--pes", str(pes))
        cost = r["seconds"] * pes / cells ** 3
        first = first or cost
        yield (f"| {eps:.0e} | {pes} | {cells ** 3} | {r['submatrices'] / pes:.1f} | {r['imbalance']:.3f} |"
               f" {r['stolen']} | {r['bytes'] * 1e-6:.1f} | {r['seconds'] * 1e3:.3f} | {first / cost:.2f} |")


def weak_cells(cells):
    """Edges of boxes in proportion to the PEs, `cells` on the fewest."""
    return lambda pes: round((pes / PES[0] * cells ** 3) ** (1 / 3))


def simulate(options, weak):
    """Strong or weak scaling in virtual time: transfers and dense work are modelled, all else is real."""
    print("| eps | PEs | molecules | submatrices a PE | imbalance | stolen | MB moved | virtual time, ms | efficiency |")
    print("|---|---|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for row in scaling_rows(options, eps, PES, weak_cells(options.weak) if weak else lambda pes: options.strong):
            print(row, flush=True)


def compare_cp2k(options):
    """CP2K's sign routine and f(K) of the matrices that it ends with, in turn: on a loaded machine, ratios only."""
    mu = 0.12  # in the middle of the gap
    print("| eps | CP2K submatrix, s | CP2K Newton-Schulz, s | submatrix, s | newton-schulz, s | mcweeny, s |"
          " CP2K's better over submatrix |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        cp2k_water.converge(folder, options.cp2k, mu, options.threads)
        matrices = [os.path.join(folder, f"{kind}.mtx") for kind in ("KS", "S")]
        for eps in options.eps:
            theirs = [min(cp2k_water.run(folder, options.cp2k, eps, method, mu, options.threads) for _ in range(2))
                      for method in cp2k_water.TIMERS]
            ours = [density(options, matrices, "--filter", repr(eps), "--mu", repr(mu), "--method", method)["time"]
                    for method in ("submatrix", "newton-schulz", "mcweeny")]
            cells = " | ".join(f"{x:.3f}" for x in theirs + ours)
            print(f"| {eps:.0e} | {cells} | {min(theirs) / ours[0]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--pes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", default="h2o_256_szv", choices=TRUTH)
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--strong", type=int, metavar="CELLS")
    parser.add_argument("--weak", type=int, metavar="CELLS")
    parser.add_argument("--cp2k", type=int, metavar="CELLS")
    parser.add_argument("eps", nargs="*", type=float, default=[1e-2, 1e-3, 1e-4, 1e-5])
    options = parser.parse_args()
    for wanted, table in ((options.methods, compare_methods), (options.sizes, compare_sizes),
                          (options.linear, measure_linear), (options.strong, lambda o: simulate(o, False)),
                          (options.weak, lambda o: simulate(o, True)), (options.cp2k, compare_cp2k)):
        if wanted:
            return table(options)
    low, high, energy, electrons, atoms = TRUTH[options.set]
    mu = (low + high) / 2
    print("| eps | combined | submatrices | mean rows | s | decompositions, s | E - mu N, meV an atom | N - N0 |"
          " E with N electrons, meV an atom |")
    print("|---|---|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for combine in ("none", "auto"):
            r = run(options, options.set, eps, combine, False)
            free = (r["energy"] - mu * r["electrons"] - (energy - mu * electrons)) * HARTREE / atoms
            exact = run(options, options.set, eps, combine, True)
            counted = (exact["energy"] - energy) * HARTREE / atoms
            f = r["function"]
            print(f"| {eps:.0e} | {combine} | {f['submatrices']} | {f['mean']:.1f} | {r['time']:.3f} |"
                  f" {f['dense_seconds'] / options.threads:.3f} | {free:+.2g} | {r['electrons'] - electrons:+.2g} |"
                  f" {counted:+.2g} |", flush=True)


if __name__ == "__main__":
    main()
