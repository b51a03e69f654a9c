# SPDX-License-Identifier: Apache-2.0
"""Twenty square matrices of $TULLE_MATRICES of many kinds: meshes, chemistry, circuits, optimisation, graphs."""
import os

NAMES = ["bcsstk16", "copter2", "4elt", "nasa4704", "wing", "h2o_256_szv_KS", "si64_H_dense", "bcspwr10",
         "bayer10", "rajat01", "ACTIVSg200_KKT", "microgrid_N1000", "ca-CondMat", "cit-HepPh", "email-Enron", "MIT8",
         "p2p-Gnutella31", "coauthor_physics", "andorra_osm_roads", "debian12_depends"]


def paths():
    """Of those that are there; the others are named."""
    folder = os.environ.get("TULLE_MATRICES", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "matrices"))
    found = {name: os.path.join(folder, name + ".mtx.gz") for name in NAMES}
    missing = [name for name, path in found.items() if not os.path.exists(path)]
    if missing:
        print(f"left out, as they are not in {folder}: {', '.join(missing)}\n")
    return [path for name, path in found.items() if name not in missing]
