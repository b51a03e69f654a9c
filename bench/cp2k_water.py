# SPDX-License-Identifier: Apache-2.0
"""CP2K beside the library: boxes of rigid water molecules, CP2K's input, its sign routines' times, its matrices.

Debian's packages cp2k and cp2k-data. One step of LS_SCF at a fixed mu, from the density of a converged calculation:
the sign routine's time is that of CP2K's final report. SUBMATRIX_SIGN_METHOD DIRECT is its eigenvalue decomposition of
submatrices.
"""
import math
import os
import random
import re
import subprocess

EDGE = 3.104  # Angstrom, of a molecule's cell
TIMERS = {"submatrix": "matrix_sign_submatrix", "newton-schulz": "matrix_sign_Newton_Schulz"}
INPUT = """&GLOBAL
  PROJECT {project}
  RUN_TYPE ENERGY
  PRINT_LEVEL LOW
  &TIMINGS
    THRESHOLD 1E-6
  &END TIMINGS
&END GLOBAL
&FORCE_EVAL
  METHOD QS
  &DFT
    BASIS_SET_FILE_NAME BASIS_MOLOPT
    POTENTIAL_FILE_NAME POTENTIAL
    &MGRID
      CUTOFF {cutoff}
    &END MGRID
    &QS
      EPS_DEFAULT 1E-8
      LS_SCF
    &END QS
    &LS_SCF
      EPS_FILTER {eps}
      EPS_SCF {accuracy}
      MAX_SCF {steps}
      {restart}
      MU {mu}
      FIXED_MU
      PURIFICATION_METHOD SIGN
      SIGN_METHOD {sign}
      S_PRECONDITIONER MOLECULAR
      MATRIX_CLUSTER_TYPE MOLECULAR
    &END LS_SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
    &PRINT
      &KS_CSR_WRITE ON
        BINARY F
      &END KS_CSR_WRITE
      &S_CSR_WRITE ON
        BINARY F
      &END S_CSR_WRITE
    &END PRINT
  &END DFT
  &SUBSYS
    &CELL
      ABC {length} {length} {length}
    &END CELL
    &COORD
{atoms}
    &END COORD
    &KIND O
      BASIS_SET SZV-MOLOPT-SR-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
    &KIND H
      BASIS_SET SZV-MOLOPT-SR-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
"""


def _molecule(rng, center):
    """A rigid molecule, turned at random: O, H, H."""
    q = [rng.gauss(0, 1) for _ in range(4)]
    norm = math.sqrt(sum(x * x for x in q))
    w, x, y, z = (v / norm for v in q)
    turn = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    half = math.radians(104.5) / 2
    atoms = [center]
    for side in (1, -1):
        bond = (0.957 * math.sin(half) * side, 0.957 * math.cos(half), 0)
        atoms.append([center[i] + sum(turn[i][k] * bond[k] for k in range(3)) for i in range(3)])
    return atoms


def box(cells, seed=1):
    """Length of a periodic box of cells^3 molecules, and their atoms, none of them too near to another's."""
    rng, length, molecules = random.Random(seed), cells * EDGE, []

    def apart(a, b):
        return math.sqrt(sum(((x - y + length / 2) % length - length / 2) ** 2 for x, y in zip(a, b)))

    def fits(new):
        for old in molecules:
            if apart(old[0], new[0]) > 6:
                continue
            for i, a in enumerate(old):
                for j, b in enumerate(new):
                    if apart(a, b) < (1.45 if i and j else 2.45 if not i and not j else 1.55):
                        return False
        return True

    for cell in range(cells ** 3):
        corner = (cell // cells // cells, cell // cells % cells, cell % cells)
        for _ in range(100000):
            new = _molecule(rng, [(c + .5) * EDGE + rng.uniform(-.25, .25) for c in corner])
            if fits(new):
                break
        else:
            raise SystemExit("a molecule has no place: take another seed")
        molecules.append(new)
    return length, molecules


def _symmetric(text, path):
    """CP2K's text of row, column, value from 1 as a Matrix Market file of the symmetric matrix."""
    values = {}
    with open(text, encoding="ascii") as file:
        for line in file:
            i, j, value = line.split()
            values[int(i), int(j)] = float(value)
    both = {**{(j, i): x for (i, j), x in values.items()}, **values}
    mean = {(i, j): (x + both[j, i]) / 2 for (i, j), x in both.items()}
    n = max(i for i, _ in mean)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(mean)}\n")
        file.writelines(f"{i} {j} {x:.16g}\n" for (i, j), x in mean.items())


def _run_cp2k(folder, cells, threads, **options):
    """CP2K's report."""
    length, molecules = box(cells)
    atoms = "\n".join(f"      {name} {x:.6f} {y:.6f} {z:.6f} H2O"
                      for molecule in molecules for name, (x, y, z) in zip("OHH", molecule))
    with open(os.path.join(folder, "water.inp"), "w", encoding="ascii") as file:
        file.write(INPUT.format(project="water", length=length, atoms=atoms, **options))
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_hwloc_base_binding_policy": "none"}
    output = os.path.join(folder, "water.out")
    if os.path.exists(output):
        os.remove(output)
    subprocess.run(["cp2k.psmp", "-i", "water.inp", "-o", "water.out"], cwd=folder, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    with open(output, encoding="latin-1") as file:
        return file.read()


_SUBMATRIX = "SUBMATRIX\n      SUBMATRIX_SIGN_METHOD DIRECT\n      SIGN_SYMMETRIC"


def converge(folder, cells, mu, threads, cutoff=60):
    """A converged calculation, whose density stays in the folder for run()."""
    report = _run_cp2k(folder, cells, threads, eps="1E-6", mu=mu, cutoff=cutoff, sign=_SUBMATRIX, accuracy="1E-6",
                       steps=30, restart="RESTART_WRITE")
    if "SCF run converged" not in report:
        raise SystemExit("CP2K: the calculation has not converged")


def run(folder, cells, eps, method, mu, threads, cutoff=60):
    """Seconds of the sign routine; the matrices of the end are folder/KS.mtx and folder/S.mtx."""
    sign = "NEWTONSCHULZ" if method != "submatrix" else _SUBMATRIX
    report = _run_cp2k(folder, cells, threads, eps=f"{eps:.1E}", mu=mu, cutoff=cutoff, sign=sign, accuracy="1E-1",
                       steps=1, restart="RESTART_READ")
    found = re.findall(rf"^ *{TIMERS[method]} .* ([0-9.]+)$", report, re.M)
    for kind in ("KS", "S"):
        text = os.path.join(folder, f"water-{kind}_SPIN_1-1_0.csr")
        if os.path.exists(text):
            _symmetric(text, os.path.join(folder, f"{kind}.mtx"))
            os.remove(text)
    return float(found[-1])
