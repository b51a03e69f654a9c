#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Tulle and its rivals on the same inputs and says who is how fast.

    bench/compare.py bench/cases/products.list --tulle build/tulle --out results.jsonl --table results.md

Build the rivals first (bench/rivals/setup.sh). A rival may be tried in several configurations; all go to --out, the
table shows its best. Results are held against each other by number of entries and by sums of the values. --store NAME:
the rows become bench/results/NAME.jsonl; the tables of doc/performance.md are

    spgemm     --ops spgemm             two-ranks  --tulle-args "--comm mpi --pes 2 --threads 1"
    spmm-f64   bench/cases/widths.list  spmm-f32   the same with --type f32
"""
import argparse
import json
import math
import os
import platform
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import time

from stored_lines import store

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# freed memory stays with the process, in huge pages; the rivals' programs set the rest by themselves
PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
UNORDERED = ", unordered"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_hwloc_base_binding_policy": "none"}


def read_cases(path):
    cases = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                cases += [(words[0], words[1], op) for op in words[2:]]
    return cases


def configurations(threads):
    """(rival, operations, label, command before the common arguments, arguments)"""
    t = ["--threads", str(threads)]
    both, gemm = ("spgemm", "spmm"), ("spgemm",)
    ranks = ["mpirun", "-np"]
    return [
        ("graphblas", both, "default", ["bench_graphblas"], t),
        ("graphblas", ("spmm",), "full", ["bench_graphblas"], t + ["--variant", "full"]),
        ("graphblas", gemm, "sort", ["bench_graphblas"], t + ["--variant", "sort"]),
        ("graphblas", gemm, "gustavson", ["bench_graphblas"], t + ["--variant", "gustavson"]),
        ("graphblas-distribution", both, "default", ["bench_graphblas-distribution"], t),
        ("mkl", both, "intel threads", ["bench_mkl"], t),
        ("mkl", both, "gnu threads", ["bench_mkl-gnu"], t),
        ("mkl", gemm, "sp2m", ["bench_mkl"], t + ["--variant", "sp2m"]),
        ("mkl", gemm, "transposed", ["bench_mkl"], t + ["--variant", "transposed"]),
        ("petsc", both, "1 rank", ranks + ["1", "bench_petsc"], []),
    ] + ([
        ("petsc", both, f"{threads} ranks", ranks + [str(threads), "bench_petsc"], []),
    ] if threads > 1 else []) + [
        ("combblas", gemm, f"1 rank x {threads} threads", ranks + ["1", "bench_combblas"], t),
        ("combblas", gemm, "4 ranks", ranks + ["4", "bench_combblas"], ["--threads", "1"]),
    ]


def run(command, environment, limit):
    """Objects that the command printed, one a line, and what went wrong ('' if nothing)."""
    try:
        # a session of its own: what mpirun starts goes with it
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, **environment}, start_new_session=True)
    except OSError as error:
        return [], str(error)
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 15)
        try:
            child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.communicate()
        return [], f"over {limit:g} s"
    objects = []
    for line in out.splitlines():
        if line.lstrip().startswith("{"):
            try:
                objects.append(json.loads(line))
            except ValueError:
                return [], "malformed JSON: " + line[:120]
    if child.returncode != 0 or not objects:
        said = [line for line in err.splitlines() if line.strip()]
        return [], f"exit {child.returncode}: {said[0] if said else 'said nothing'}"[:300]
    return objects, ""


def make_input(options, name, source, kind):
    """The .csr file of a case, made if it is not there yet; None with the reason if that fails."""
    path = os.path.join(options.data, f"{name}.{kind}.csr")
    if os.path.exists(path):
        return path, ""
    os.makedirs(options.data, exist_ok=True)
    made = subprocess.run([os.path.join(options.build, "mkcsr"), "--type", kind, source, path + ".part"],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return None, made.stderr.strip()
    os.replace(path + ".part", path)
    return path, ""


def is_square(path):
    with open(path, "rb") as file:
        m, n = struct.unpack("<16xqq", file.read(32))
    return m == n


def tulle_runs(options, source, path, op, cols, threads):
    """Tulle reads the same matrix from its spec or its Matrix Market file."""
    command = [options.tulle, op, source, "--pes", "1", "--threads", str(threads), "--reps", str(options.reps), "--json"]
    command += ["--cols", str(cols)] if op == "spmm" else []
    command += ["--type", options.type] if options.type != "f64" else []
    command += shlex.split(options.tulle_rectangular) if op == "spgemm" and not is_square(path) else []
    command += shlex.split(options.tulle_args)
    objects, wrong = run(command, PAGES, options.limit)
    if op == "spgemm" and not wrong:
        unordered, wrong = run(command + ["--unordered"], PAGES, options.limit)
        objects += unordered
    results = []
    for o in objects:
        seconds = o.get("seconds")
        if isinstance(seconds, list):
            seconds = statistics.median(seconds)
        if seconds is None:
            continue
        rival = "tulle" + (UNORDERED if o.get("unordered") else "")
        results.append({**o, "rival": rival, "configuration": o.get("alg", ""), "seconds_median": seconds})
        if o.get("seconds_reused_plan") and not o.get("unordered"):
            results.append({**results[-1], "rival": "tulle (plan kept)", "seconds_median": o["seconds_reused_plan"]})
    return results, wrong or ("" if results else "no object with seconds")


def agrees(result, truth):
    """Same entries, same sums up to rounding. Only sums that were told are compared.

    Entries of A B, B dense, are not counted: GraphBLAS leaves out the rows that A leaves empty."""
    if result["case"].split()[-1] == "spgemm" and result.get("nnz_c") not in (None, truth["nnz_c"]):
        return False
    if "checksum" not in result:
        return True
    slack = (1e-4 if truth["type"] == "f32" else 1e-9) * truth["checksum"][1]
    return all(abs(a - b) <= slack for a, b in zip(result["checksum"], truth["checksum"]))


def machine():
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def commit():
    said = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def seconds_text(seconds):
    return f"{seconds:.2f}" if seconds >= 10 else f"{seconds:.3f}" if seconds >= 0.1 else f"{seconds:.4f}"


def table(results, failures, rivals):
    """Markdown: a row a case, a column a rival: seconds, and in brackets how many times Tulle's."""
    best = {}
    # what putting rows in order costs is shown apart: such a C is not what the others make
    results = results + [
        {**r, "rival": r["rival"] + UNORDERED, "seconds_median": r["seconds_median"] - r["seconds_ordering"]}
        for r in results
        if (r.get("seconds_ordering") or 0) > 0.01 * r["seconds_median"] and r["configuration"] != "transposed"]
    for r in results:
        key = (r["case"], r["threads_asked"], r["rival"])
        if key not in best or r["seconds_median"] < best[key]["seconds_median"]:
            best[key] = r
    rows = list(dict.fromkeys((r["case"], r["threads_asked"]) for r in results + failures))
    has_tulle = any(rival == "tulle" for _, _, rival in best)
    rivals = [name for r in rivals for name in (r, r + UNORDERED)]
    columns = [r for r in rivals if any(rival == r for _, _, rival in best)]
    head = ["case", "threads", "C entries"] + columns + (["Tulle to best rival"] if has_tulle else [])
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for case, threads in rows:
        mine = best.get((case, threads, "tulle"))
        mine_unordered = best.get((case, threads, "tulle" + UNORDERED), mine)
        cells, others, nnz = [], [], ""
        for rival in columns:
            r = best.get((case, threads, rival))
            if not r:
                cells.append("-")
                continue
            nnz = r.get("nnz_c", nnz)
            text = seconds_text(r["seconds_median"])
            if not rival.startswith("tulle"):
                if not rival.endswith(UNORDERED):
                    others.append(r["seconds_median"])
                if mine:
                    beside = mine_unordered if rival.endswith(UNORDERED) else mine
                    text += f" ({r['seconds_median'] / beside['seconds_median']:.2f}x)"
            if not r["agrees"]:
                text += " WRONG"
            cells.append(text)
        if has_tulle:
            cells.append(f"{min(others) / mine['seconds_median']:.2f}x" if mine and others else "-")
        out.append("| " + " | ".join([case, str(threads), str(nnz)] + cells) + " |")
    out += ["", "Seconds, median; in brackets the rival's time over Tulle's: over 1, Tulle is faster.",
            "Unordered: Tulle's with --unordered; of a rival less the time that putting the rows of C in order took, in "
            "brackets beside Tulle's unordered; not counted as the best rival.", ""]
    if failures:
        out += ["Not run:", ""] + [f"- {f['case']}, {f['threads_asked']} threads, {f['rival']} ({f['configuration']}): "
                                   f"{f['failure']}" for f in failures] + [""]
    return "\n".join(out)


STORED = {"tulle": "Tulle", "tulle (plan kept)": "plan kept", "graphblas": "GraphBLAS", "mkl": "MKL", "petsc": "PETSc",
          "combblas": "CombBLAS"}


def stored_rows(results, failures, limit):
    """Rows of bench/results: seconds of the best configuration of each, and the fraction that Tulle is of its bound."""
    rows = []
    both = len({r["case"].rpartition(" ")[2] == "spgemm" for r in results}) == 2
    for case in dict.fromkeys(r["case"] for r in results):
        best = {}
        for r in results:
            if r["case"] == case and r["agrees"] and r["seconds_median"] < best.get(r["rival"], {}).get("seconds_median", math.inf):
                best[r["rival"]] = r
        if "tulle" not in best:
            continue
        mine, operation = best["tulle"], case.rpartition(" ")[2]
        source = mine["input"].replace(",seed=1", "").replace(".mtx.gz", "")
        op, cols = operation.partition(":")[::2]
        row = {"case": f"{source}, SpGEMM" if op == "spgemm" and both else source if op == "spgemm" else
               f"{source}, SpMM N = {cols}" if both else f"{source}, N = {cols}"}
        if op == "spgemm":
            row["C entries"] = str(mine["nnz_c"])
        others = []
        for rival, column in STORED.items():
            if rival in best:
                seconds = best[rival]["seconds_median"]
                row[column] = seconds_text(seconds)
                if not rival.startswith("tulle"):
                    others.append(seconds / mine["seconds_median"])
                    row[column] += f" ({others[-1]:.2f}x)"
            elif any(f["case"] == case and f["rival"] == rival and "over" in f["failure"] for f in failures):
                row[column] = f"over {limit:g}"
        if mine.get("roofline_fraction"):
            row["bound"] = f"{mine['roofline_fraction']:.0%}"
        row["to the best rival"] = f"{min(others):.2f}x" if others else "-"
        rows.append(row)
    return rows


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", help="list of cases (bench/cases/*.list)")
    parser.add_argument("--build", default=os.path.join(HERE, "rivals", "build"), help="where the rivals were built")
    parser.add_argument("--data", default=os.path.join(HERE, "rivals", "data"), help="where inputs are kept")
    parser.add_argument("--tulle", help="the tulle command; left out if not given and not on the path")
    parser.add_argument("--tulle-args", default="", help="further arguments for it")
    parser.add_argument("--tulle-rectangular", default="", help="what makes `tulle spgemm` do A A^T, if it does not by itself")
    parser.add_argument("--rivals", help="only these, separated by commas (tulle is one)")
    parser.add_argument("--only", help="only cases whose name holds one of these, separated by commas")
    parser.add_argument("--ops", help="only these operations, e.g. spgemm or spmm:32, separated by commas")
    parser.add_argument("--threads", default="2", help="numbers of threads, separated by commas")
    parser.add_argument("--type", choices=["f32", "f64"], default="f64")
    parser.add_argument("--reps", type=int, default=5, help="timed runs, after one to warm up")
    parser.add_argument("--enough", type=float, default=10, help="seconds of timed runs after which fewer do")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one command")
    parser.add_argument("--out", help="append a line of JSON for each result")
    parser.add_argument("--table", help="write the table here too")
    parser.add_argument("--store", metavar="NAME", help="write the rows to bench/results/NAME.jsonl")
    parser.add_argument("--from", dest="earlier", help="make the table from an earlier --out file, run nothing")
    options = parser.parse_args()
    if not options.cases and not options.earlier:
        parser.error("a list of cases, or --from")
    return options


def repeats(options, group):
    """Timed runs of a case: --reps, or as many as the slowest so far has in --enough seconds."""
    slowest = max((r["seconds_median"] for r in group), default=0)
    return max(1, min(options.reps, int(options.enough / slowest))) if slowest else options.reps


def measure(options, say):
    results, failures = [], []
    common = {"machine": machine(), "commit": commit()}
    matrices = os.environ.get("TULLE_MATRICES", os.path.join(ROOT, "..", "shared", "matrices"))
    chosen = options.rivals.split(",") if options.rivals else None
    tulle = options.tulle or shutil.which("tulle")
    options.tulle = tulle
    for name, source, operation in read_cases(options.cases):
        op, _, cols = operation.partition(":")
        case = f"{name} {operation}"
        if options.only and not any(word in name for word in options.only.split(",")):
            continue
        if options.ops and operation not in options.ops.split(","):
            continue
        if source.startswith("@"):
            source = os.path.join(matrices, source[1:] + ".mtx.gz")
        path, wrong = make_input(options, name, source, options.type)
        if not path:
            failures.append({"case": case, "threads_asked": "", "rival": "all", "configuration": "", "failure": wrong})
            continue
        for threads in [int(t) for t in options.threads.split(",")]:
            about = {**common, "case": case, "input": os.path.basename(source), "threads_asked": threads}
            group = []

            def note(found, wrong, rival, label):
                for r in found:
                    r = {**about, "configuration": label, "date": time.strftime("%Y-%m-%dT%H:%M:%S"),
                         "load": round(os.getloadavg()[0], 2), **r}
                    group.append(r)
                    say(f"{case}, {threads} threads, {r['rival']} ({r['configuration']}): "
                        f"{seconds_text(r['seconds_median'])} s")
                if wrong:
                    failures.append({**about, "rival": rival, "configuration": label, "failure": wrong})
                    say(f"{case}, {threads} threads, {rival} ({label}): {wrong}")

            if tulle and (not chosen or "tulle" in chosen):
                note(*tulle_runs(options, source, path, op, cols, threads), "tulle", "")
            for rival, ops, label, command, arguments in configurations(threads):
                program = os.path.join(options.build, command[-1])
                if op not in ops or (chosen and rival not in chosen) or not os.path.exists(program):
                    continue
                if rival == "petsc" and options.type == "f32":
                    continue
                line = command[:-1] + [program, "--op", op, "--matrix", path, "--type", options.type, "--reps",
                                       str(repeats(options, group))] + (["--cols", cols] if cols else []) + arguments
                note(*run(line, {**PAGES, **MPI, "OMP_NUM_THREADS": str(threads)}, options.limit), rival, label)
            told = [r for r in group if "checksum" in r]
            if told:
                # the truth is what most say
                truth = max(told, key=lambda r: sum(agrees(o, r) for o in told))
                for r in group:
                    r["agrees"] = agrees(r, truth)
                    if not r["agrees"]:
                        say(f"{case}: {r['rival']} ({r['configuration']}) differs: {r.get('nnz_c')} entries, "
                            f"{r.get('checksum')}; others {truth['nnz_c']}, {truth['checksum']}")
            for r in group:
                r.setdefault("agrees", True)
            results += group
            if options.out:
                with open(options.out, "a", encoding="utf-8") as out:
                    out.writelines(json.dumps(r) + "\n" for r in group)
    return results, failures


def main():
    options = parse_arguments()
    if options.earlier:
        with open(options.earlier, encoding="utf-8") as lines:
            results, failures = [json.loads(line) for line in lines], []
    else:
        results, failures = measure(options, lambda text: print(text, file=sys.stderr, flush=True))
    order = ["tulle", "tulle (plan kept)"] + list(dict.fromkeys(r for r, *_ in configurations(2)))
    text = table(results, failures, order)
    print(text)
    if options.table:
        with open(options.table, "w", encoding="utf-8") as out:
            out.write(text)
    if options.store:
        store(options.store, f"{', '.join(dict.fromkeys(r['op'] for r in results if 'op' in r))}, {options.type}, "
              f"{options.threads} threads", stored_rows(results, failures, options.limit))
    return 1 if any(not r["agrees"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
