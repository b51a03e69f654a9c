#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CG with IC(0) and GMRES(30) with ILU(0): iterations and times beside PETSc's.

    bench/krylov.py --tulle build/tulle --rivals bench/rivals/build [--tol 1e-8] [--pes 1] [--few] [--all]

b of ones, x = 0 at first, the same tolerance of the unpreconditioned residual, GMRES preconditioned from the right, factors
not shifted, natural order. PETSc runs on one rank. Matrices are those of $TULLE_MATRICES named below (SPD by its
INDEX.md, then others) and stencils; what is not there is left out with a word. Iterations agree within rounding where the
factors exist: `differ` marks those that are more than 5 % (and more than two) apart. An outcome that is no convergence is
shown by its word; for PETSc, that of its reason.
"""
import argparse
import json
import os
import subprocess
import tempfile

SPD = ["LFAT5", "bcsstk01", "494_bus", "1138_bus", "bcsstk02", "Chem97ZtZ", "nasa4704", "bcsstk16", "h2o_256_szv_S",
       "h2o_864_szv_S", "ani4", "pyamg_bar", "pyamg_ldg_diffusion", "mfem_bracket_elasticity", "mfem_bracket_thermal_p2"]
STENCILS = ["stencil2d:n=100", "stencil2d:n=300", "stencil3d:n=40", "stencil3d:n=32,points=27", "fem:nodes=24,dof=1"]
GENERAL = ["cage5", "west0067", "bfwa62", "impcol_a", "fs_183_6", "arc130", "pyamg_recirc_flow", "west0479", "olm1000",
           "bp_1200", "rajat19", "nontrivial_mc64", "epb0", "nnc1374", "adder_dcop_05", "watt_2", "cryg2500", "Pd",
           "superlu_big", "bayer10", "microgrid_N1000"]

FEW = ["bcsstk16", "1138_bus", "mfem_bracket_elasticity", "mfem_bracket_thermal_p2", "stencil2d:n=300", "superlu_big", "epb0"]

WORDS = {"cg": "CG", "gmres": "GMRES(30)", "ic0": "IC(0)", "ilu0": "ILU(0)"}


def last_json(command):
    """The JSON line that a command prints, or its last word on what is wrong."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line), ""
    said = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
    return None, said


def ours(options, operand, method, precond):
    told, wrong = last_json([options.tulle, "solve", operand, "--method", method, "--precond", precond, "--rhs", "ones",
                             "--tol", str(options.tol), "--max-iterations", str(options.most), "--pes", str(options.pes),
                             "--threads", "1", "--json", "--quiet"] + (["--restart", "30"] if method == "gmres" else []))
    if not told:
        return None, "-", wrong
    column = told["columns"][0]
    word = str(column["iterations"]) if column["stop"] == "converged" else f"{column['stop']} ({column['iterations']})"
    return (column["iterations"] if column["stop"] == "converged" else None), word, column


def theirs(options, path, method, precond):
    told, wrong = last_json([os.path.join(options.rivals, "bench_petsc"), "--op", "krylov", "--matrix", path, "--method",
                             method, "--precond", precond, "--tol", str(options.tol), "--restart", "30",
                             "--max-iterations", str(options.most)])
    if not told:
        return None, "-", wrong
    word = str(told["iterations"]) if told["converged"] else f"{told['reason'].lower()} ({told['iterations']})"
    return (told["iterations"] if told["converged"] else None), word, told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--rivals", default="bench/rivals/build")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--pes", type=int, default=1)
    parser.add_argument("--most", type=int, default=5000, help="iterations")
    parser.add_argument("--few", action="store_true", help="those of doc/performance.md")
    parser.add_argument("--all", action="store_true", help="also without a preconditioner and with the diagonal")
    options = parser.parse_args()
    folder = os.environ.get("TULLE_MATRICES", "../shared/matrices")
    ways = [("cg", "ic0", SPD + STENCILS), ("gmres", "ilu0", GENERAL + SPD + STENCILS)]
    if options.all:
        ways += [(m, p, names) for m, _, names in ways[:2] for p in ("none", "jacobi")]
    if options.few:
        ways = [(method, precond, [name for name in names if name in FEW]) for method, precond, names in ways]
    notes, agree, compared = [], 0, 0
    print("| case | rows | entries | iterations | PETSc's iterations | Tulle | PETSc | true residual | PETSc's | |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for method, precond, names in ways:
            for name in names:
                source = name if ":" in name else os.path.join(folder, name + ".mtx.gz")
                if ":" not in name and not os.path.exists(source):
                    notes.append(f"{name}: there is no {source}")
                    continue
                path = os.path.join(work, "matrix.csr")
                made = subprocess.run([os.path.join(options.rivals, "mkcsr"), source, path], capture_output=True,
                                      text=True, check=False)
                if made.returncode:
                    notes.append(f"{name}: {made.stderr.strip()}")
                    continue
                mine, word, column = ours(options, source, method, precond)
                petsc, petsc_word, told = theirs(options, path, method, precond)
                if isinstance(column, str):
                    notes.append(f"{method} {precond} {name}: ours: {column}")
                if isinstance(told, str):
                    notes.append(f"{method} {precond} {name}: PETSc: {told}")
                mark = ""
                if mine is not None and petsc is not None:
                    near = abs(mine - petsc) <= max(2, 0.05 * petsc)
                    compared, agree, mark = compared + 1, agree + near, "" if near else "differ"
                size, residuals, seconds = ["?", "?"], ["-", "-"], ["-", "-"]
                if isinstance(told, dict):
                    size = [str(told["n"]), str(told["nnz"])]
                    residuals[1] = "-" if told["true_residual"] is None else f"{told['true_residual']:.1e}"
                    seconds[1] = f"{told['seconds']:.3g}"
                if isinstance(column, dict) and column["norm"]:
                    true = column["true_residual"]
                    residuals[0] = "-" if true is None else f"{true / column['norm']:.1e}"
                    seconds[0] = f"{column['seconds']:.3g}"
                case = f"{WORDS.get(method, method)}, {WORDS.get(precond, precond)}, {name}"
                print("| " + " | ".join([case, *size, word, petsc_word, *seconds, *residuals, mark]) + " |", flush=True)
    print(f"\niterations agree on {agree} of the {compared} on which both converge")
    for note in notes:
        print(f"note: {note}")


if __name__ == "__main__":
    main()
