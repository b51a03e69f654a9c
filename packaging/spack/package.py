# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Tulle(CMakePackage):
    """Sparse and dense linear algebra over one-sided communication: products with work stealing, triangular solves
    without barriers, streams of matrices larger than memory."""

    license("Apache-2.0")
    maintainers("tulle")

    # `make dist` makes the archive; its sum belongs here with the release
    version("0.1.1", tag="v0.1.1")
    version("0.1.0", tag="v0.1.0")

    variant("zlib", default=True, description="compressed files by zlib")
    variant("isal", default=True, description="compressed files by ISA-L, several times faster")
    variant("bzip2", default=True, description="reading of .bz2 files")
    variant("lzma", default=True, description="reading of .xz files")
    variant("zstd", default=True, description="reading of .zst files")
    variant("hdf5", default=True, description="Binsparse files")
    variant("mpi", default=True, description="the engine mpi")
    variant("simgrid", default=False, description="the engine sim")
    variant("suitesparse", default=True, description="direct factors by KLU and CHOLMOD")
    variant("libxsmm", default=False, description="products of dense blocks by LIBXSMM")
    variant("scalapack", default=False, when="+mpi", description="a product with the arguments of PDGEMM")
    variant("cuda", default=False, description="the device cuda")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+simgrid")
    depends_on("cmake@3.18:", type="build")
    depends_on("blas")
    depends_on("lapack")
    depends_on("zlib-api", when="+zlib")
    depends_on("isa-l", when="+isal")
    depends_on("bzip2", when="+bzip2")
    depends_on("xz", when="+lzma")
    depends_on("zstd", when="+zstd")
    depends_on("hdf5 ~mpi", when="+hdf5")
    depends_on("cjson")
    depends_on("mpi", when="+mpi")
    depends_on("simgrid", when="+simgrid")
    depends_on("suite-sparse", when="+suitesparse")
    depends_on("libxsmm@1", when="+libxsmm")
    depends_on("scalapack", when="+scalapack")
    depends_on("cuda@13:", when="+cuda")

    def cmake_args(self):
        def switch(name, variant):
            return self.define(f"TULLE_WITH_{name}", "ON" if self.spec.satisfies(f"+{variant}") else "OFF")

        return [
            self.define("TULLE_TESTS", self.run_tests),
            self.define("TULLE_BUILD_TREE", self.run_tests),
            self.define("TULLE_WITH_BLAS", "ON"),
            self.define("TULLE_WITH_LAPACK", "ON"),
            self.define("TULLE_WITH_CJSON", "ON"),
            self.define("TULLE_WITH_SHMEM", "OFF"),
            self.define("TULLE_WITH_OPENACC", "OFF"),
            switch("ZLIB", "zlib"),
            switch("ISAL", "isal"),
            switch("BZIP2", "bzip2"),
            switch("LZMA", "lzma"),
            switch("ZSTD", "zstd"),
            switch("HDF5", "hdf5"),
            switch("MPI", "mpi"),
            switch("SIMGRID", "simgrid"),
            switch("SUITESPARSE", "suitesparse"),
            switch("LIBXSMM", "libxsmm"),
            switch("SCALAPACK", "scalapack"),
            switch("CUDA", "cuda"),
        ]
