#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares C of random products between two builds of the command: a guard for changes that should alter no result.

    test/oldnew/oldnew.py OLD NEW [--cases 200] [--seed 1] [--only N] [--verbose]

The seed makes the list. C is compared bit by bit where --deterministic was given and both took the same algorithm,
else entry by entry within the rounding bound of two sums, 2 (k + 2) eps |A| |B|. Refusals are equal if the exit
statuses are. A failing case is printed as two commands that can be pasted; its inputs are kept then.
"""
import argparse
import gzip
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

EPS = {"f32": 2.0 ** -24, "f64": 2.0 ** -53}
ALGS = ["auto", "stationary-c", "stationary-a", "stationary-b", "steal-random-a", "steal-local-a", "steal-local-c", "summa",
        "cannon"]
LIMIT = 120  # seconds for one command


class Broken(Exception):
    """An input could not be made, or a result could not be read."""


class Maker:
    """Inputs in a folder: .mtx for the bound, and the same in the formats that the old command writes."""

    def __init__(self, tulle, folder, environment):
        self.tulle, self.folder, self.environment = tulle, folder, environment
        self.made = {}

    def call(self, *words):
        done = subprocess.run([self.tulle, *words], capture_output=True, text=True, check=False, env=self.environment,
                              timeout=LIMIT)
        if done.returncode != 0:
            raise Broken(f"{self.tulle} {shlex.join(words)}: exit {done.returncode}: {done.stderr.strip()[:300]}")

    def path(self, spec, ending):
        """A file of that ending with the matrix of a generator's spec, or with the dense matrix 'dense MxN SEED'."""
        if (spec, ending) in self.made:
            return self.made[spec, ending]
        path = os.path.join(self.folder, f"input{len(self.made)}{ending}")
        if ending == ".mtx" and spec.startswith("dense "):
            self.dense(spec, path)
        elif ending == ".mtx":
            self.call("gen", spec, "-p", "1", "-q", "-o", path)
        else:
            self.call("convert", self.path(spec, ".mtx"), path)
        self.made[spec, ending] = path
        return path

    @staticmethod
    def dense(spec, path):
        shape, seed = spec.split()[1:]
        m, n = (int(x) for x in shape.split("x"))
        draw = random.Random(int(seed))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"%%MatrixMarket matrix array real general\n{m} {n}\n")
            file.writelines(f"{draw.uniform(-1, 1)!r}\n" for _ in range(m * n))


def read(path):
    """(m, n, {(i, j): value}) of a Matrix Market file; entries at one place are an error, as C has none."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        banner = file.readline().lower().split()
        if len(banner) != 5 or banner[1] != "matrix":
            raise Broken(f"{path}: no Matrix Market banner")
        line = file.readline()
        while line.startswith("%") or not line.strip():
            if not line:
                raise Broken(f"{path}: no size line")
            line = file.readline()
        size = [int(x) for x in line.split()]
        entries = {}
        if banner[2] == "array":
            for place, text in enumerate(file.read().split()):
                entries[place % size[0], place // size[0]] = float(text)
        else:
            for text in file:
                words = text.split()
                place = int(words[0]) - 1, int(words[1]) - 1
                value = float(words[2]) if len(words) > 2 else 1.0
                if place in entries:
                    raise Broken(f"{path}: two entries at row {place[0] + 1}, column {place[1] + 1}")
                entries[place] = value
                if banner[4] != "general" and place[0] != place[1]:
                    entries[place[1], place[0]] = -value if banner[4] == "skew-symmetric" else value
    return size[0], size[1], entries


def bounds(case, maker, m):
    """A function (i, j) -> how far two roundings of C's entry may be apart."""
    am, k, A = read(maker.path(case["a"], ".mtx"))
    rows = [{} for _ in range(am)]
    for (i, j), value in A.items():
        rows[i][j] = abs(value)
    if case["b"]:
        _, _, B = read(maker.path(case["b"], ".mtx"))
        brows = {}
        for (i, j), value in B.items():
            brows.setdefault(i, {})[j] = abs(value)
    elif case["verb"] == "spmm":
        brows = None  # random, within 1
    elif am == k:
        brows = {i: row for i, row in enumerate(rows)}
    else:
        brows = {}
        for (i, j), value in A.items():
            brows.setdefault(j, {})[i] = abs(value)
    if am != m:
        raise Broken(f"C has {m} rows, A {am}")
    made = {}

    def bound(i, j):
        if i not in made:
            sums = {}
            for inner, value in rows[i].items():
                if brows is None:
                    sums[0] = sums.get(0, 0) + value
                    continue
                for col, factor in brows.get(inner, {}).items():
                    sums[col] = sums.get(col, 0) + value * factor
            made[i] = sums
        # values of f32 products were rounded when they were read
        return 2 * (len(rows[i]) + 4) * EPS[case["type"]] * made[i].get(0 if brows is None else j, 0)

    return bound


def draw_case(draw):
    """A product: what is drawn may be refused, then by both."""
    n = draw.choice([1, 7, 30, 64, 150, 300])
    m = draw.choice([n, n, n, 40, 90])
    square = [f"er:n={n},degree={min(n, draw.choice([0.5, 2, 5]))},seed={draw.randrange(99)}",
              f"rmat:scale={draw.randrange(3, 9)},edgefactor=4,seed={draw.randrange(99)}",
              f"fem:nodes={draw.randrange(2, 7)},dof={draw.choice([1, 3])}",
              f"stencil2d:nx={draw.randrange(2, 16)},ny={draw.randrange(2, 16)}", f"band:n={n},lower=2,upper=1"]
    spec = draw.choice(square) if m == n else f"er:m={m},n={n},degree={min(n, 3)},seed={draw.randrange(99)}"
    verb = draw.choice(["spmm", "spgemm"])
    pes = draw.randrange(1, 8)
    case = {"verb": verb, "a": spec, "b": "", "type": draw.choice(["f32", "f64"]), "options": [], "rectangular": m != n,
            "ending": draw.choice(["", "", ".mtx", ".mtx.gz", ".npz", ".bsp.h5"]), "b_ending": draw.choice([".mtx", ".npy"]),
            "b_cols": draw.choice([0, 0, 1, 5, 17]) if verb == "spmm" else draw.choice([0, 0, 9, 50]),
            "seed": draw.randrange(99)}
    alg = draw.choice(ALGS)
    if alg == "cannon" and draw.random() < 0.8:
        pes = draw.choice([1, 4])  # it wants a square grid: elsewhere it is refused
    grids = [f"{rows}x{pes // rows}" for rows in range(1, pes + 1) if pes % rows == 0]
    if alg == "cannon" and pes == 4:
        grids = ["2x2"]
    words = ["--pes", str(pes), "-t", str(draw.choice([1, 1, 2])), "--grid", draw.choice(grids), "--alg", alg,
             "--type", case["type"], "--machine", "summit"]
    if verb == "spmm" and not case["b_cols"]:
        words += ["--cols", str(draw.choice([1, 2, 8, 13]))]
    if draw.random() < 0.3:
        words += ["--tiles", str(draw.randrange(2, 4))]
    if draw.random() < 0.15:
        words += ["--grid-b", draw.choice(grids)]
    if draw.random() < 0.15:
        words += ["--grid-c", draw.choice(grids)]
    if draw.random() < 0.2:
        words += ["--cyclic"]
    if draw.random() < 0.2 and pes % 2 == 0:
        words += ["--replication", "2"]
    if draw.random() < 0.3:
        words += ["--cut", draw.choice(["rows", "nnz", "flops"])]
    if draw.random() < 0.5:
        chosen = draw.choice(["whole", "rows", "cover"])
        words += ["--transfers", "whole" if alg in ("stationary-b", "summa", "cannon") else chosen]  # all read that
    if draw.random() < 0.3:
        ahead = draw.randrange(0, 4)
        words += ["--lookahead", str(0 if alg in ("summa", "cannon") else ahead)]  # all read that
    if draw.random() < 0.3:
        words += ["--comm", "net:latency=1us,bw=100G+threads"]
    if draw.random() < 0.6:
        words += ["--deterministic"]
    case["words"] = words
    if draw.random() < 0.06:  # too little memory: refused, or in phases
        case.update(verb="spgemm", a=f"er:n=1500,degree=24,seed={draw.randrange(9)}", b_cols=0, rectangular=False, ending="",
                    words=["--pes", str(draw.choice([1, 2, 3])), "-t", "1", "--alg", draw.choice(ALGS[:4]), "--type",
                           case["type"], "--machine", "summit", "--deterministic", "--memory",
                           draw.choice(["8M", "55M", "60M", "70M"])])
    return case


def complete(case, maker):
    """The arguments of the command, without -o; B is made as long as A is wide."""
    a = case["a"] if not case["ending"] else maker.path(case["a"], case["ending"])
    operands = [a]
    if case["b_cols"]:
        _, k, _ = read(maker.path(case["a"], ".mtx"))
        dense = case["verb"] == "spmm"
        case["b"] = f"dense {k}x{case['b_cols']} {case['seed']}" if dense else \
            f"er:m={k},n={case['b_cols']},degree=3,seed={case['seed']}"
        operands.append(maker.path(case["b"], case["b_ending"] if dense else ".mtx"))
    return [case["verb"], *operands, *case["words"], "--json", "--quiet"]


def run(tulle, arguments, output, environment):
    """(exit status, object that was printed, what was said)."""
    child = subprocess.Popen([tulle, *arguments, "-o", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment, start_new_session=True)
    try:
        out, err = child.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return -1, {}, f"over {LIMIT} s"
    told = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return child.returncode, told[-1] if told else {}, err.strip()[:300]


def same_bytes(first, second):
    with open(first, "rb") as one, open(second, "rb") as other:
        return one.read() == other.read()


def compare(case, maker, outputs, told):
    """(kind, what differs or ''): kind is 'bitwise' or 'bound'."""
    exact = "--deterministic" in case["words"] and told[0]["alg"] == told[1]["alg"]
    kind = "bitwise" if exact else "bound"
    if same_bytes(*outputs):
        return kind, ""
    (m, n, old), (m1, n1, new) = (read(path) for path in outputs)
    if (m, n) != (m1, n1):
        return kind, f"C is {m} x {n}, and {m1} x {n1}"
    if old.keys() != new.keys():
        place = min(old.keys() ^ new.keys())
        return kind, f"C({place[0] + 1}, {place[1] + 1}) is stored by one of them only: {len(old)} and {len(new)} entries"
    bound = None if exact else bounds(case, maker, m)
    for place in sorted(old):
        # of two zeros the signs are compared too, where bits are
        same = repr(old[place]) == repr(new[place])
        if not same and (exact or not abs(old[place] - new[place]) <= bound(*place)):
            return kind, f"C({place[0] + 1}, {place[1] + 1}) is {old[place]!r}, and {new[place]!r}" + \
                ("" if exact else f", further apart than {bound(*place):.3g}")
    return kind, ""


def try_case(case, maker, builds, environment):
    """(kind, what differs or '', arguments)."""
    arguments = complete(case, maker)
    outputs = [os.path.join(maker.folder, name) for name in ("old.mtx", "new.mtx")]
    for path in outputs:
        if os.path.exists(path):
            os.remove(path)
    (old, told, said), (new, told1, said1) = (
        run(tulle, arguments, output, environment) for tulle, output in zip(builds, outputs))
    if old != new:
        return "refused", f"exit {old} ({said or 'said nothing'}), and {new} ({said1 or 'said nothing'})", arguments
    if old not in (0, 2, 3):
        return "refused", f"both end with {old}: {said}", arguments
    if old:
        return "refused", "", arguments
    case["phases"] = told.get("phases_of_columns", 1)
    try:
        kind, wrong = compare(case, maker, outputs, [told, told1])
    except (Broken, ValueError, IndexError) as error:  # a result that cannot be read is a difference, with its commands
        kind, wrong = "refused", f"{type(error).__name__}: {error}"
    return kind, wrong, arguments


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="only the case of that number")
    parser.add_argument("--verbose", action="store_true", help="tell every case")
    options = parser.parse_args()
    builds = [os.path.abspath(path) for path in (options.old, options.new)]
    for path in builds:
        if not os.access(path, os.X_OK):
            print(f"oldnew.py: {path} is not a program", file=sys.stderr)
            return 2
    draw = random.Random(options.seed)
    cases = [draw_case(draw) for _ in range(options.cases)]
    counts = {"bitwise": 0, "bound": 0, "refused": 0}
    bad = phases = 0
    folder = tempfile.mkdtemp(prefix="oldnew")
    environment = {**os.environ, "XDG_CACHE_HOME": folder}
    maker = Maker(builds[0], folder, environment)
    for number, case in enumerate(cases, 1):
        if options.only not in (None, number):
            continue
        arguments = []
        try:
            kind, wrong, arguments = try_case(case, maker, builds, environment)
        except (Broken, ValueError, KeyError, OSError, subprocess.TimeoutExpired) as error:
            kind, wrong = "refused", f"{type(error).__name__}: {error}"
        if wrong:
            bad += 1
            print(f"case {number} of seed {options.seed} differs: {wrong}")
            for tulle, name in zip(builds if arguments else [], ("old.mtx", "new.mtx")):
                print("    " + shlex.join([tulle, *arguments, "-o", name]), flush=True)
            continue
        counts[kind] += 1
        phases += case.get("phases", 1) > 1
        if options.verbose:
            print(f"case {number}: {kind}: {shlex.join(arguments)}", flush=True)
    print(f"{sum(counts.values()) + bad} products: {counts['bitwise']} equal bit by bit, {counts['bound']} within the rounding "
          f"bound, {counts['refused']} refused by both, {bad} different; {phases} in phases")
    if bad:
        print(f"inputs are kept in {folder}")
        return 1
    shutil.rmtree(folder)
    if counts["bitwise"] + counts["bound"] == 0:
        print("oldnew.py: no product was compared", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
