# SPDX-License-Identifier: Apache-2.0
"""What this package was built with."""
import glob
import os

from . import _core

_NAMES = {"libbz2": "bzip2", "liblzma": "lzma", "libzstd": "zstd", "ISA-L": "isal"}


def build():
    """A dict of what is in this build.

    version and commit of the sources (None: not known), compiler; kernels: the instruction set that
    products and solves take on this processor ("avx512", "avx2", "portable"); blas: the library, or
    None for the package's own loops; features: whether zlib, isal, bzip2, lzma, zstd, hdf5, blas, lapack,
    suitesparse and libxsmm are in; mpi: the MPIs that there are modules for ("openmpi", "mpich",
    "abi"), which `tulle.mpi` needs; modules: all of them; library: the file of libtulle.
    """
    features, facts = {}, {}
    for name, text in (fact.split(": ", 1) for fact in _core.build_facts()):
        if text.split(" ", 1)[0] in ("yes", "no"):
            features[_NAMES.get(name, name).lower()] = text.startswith("yes")
        facts[name] = text
    library = os.path.realpath(_core.library())
    found = glob.glob(os.path.join(glob.escape(os.path.dirname(library)), "tulle", "tulle_*.so"))
    modules = sorted(os.path.basename(file)[len("tulle_"):-len(".so")] for file in found)
    blas = facts["BLAS"].partition("(")[2].rstrip(")") if features["blas"] else None
    return {
        "version": _core.version(),
        "commit": _core.commit() or None,
        "compiler": facts["compiler"],
        "kernels": facts["kernels"],
        "blas": blas,
        "features": features,
        "mpi": [name[len("mpi_"):] for name in modules if name.startswith("mpi_")],
        "modules": modules,
        "library": library,
    }
