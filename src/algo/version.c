/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the build. */
#include <string.h>

#include <tulle/version.h>

#include "kernel/kernel.h"

const char *tulle_version(void)
{
    return TULLE_VERSION;
}

static const char *const facts[] = {
    ("compiler: " __VERSION__),
#ifdef TULLE_HAVE_ZLIB
    "zlib: yes",
#else
    "zlib: no (.gz and .npz files are refused); install zlib1g-dev and build again",
#endif
#ifdef TULLE_HAVE_ISAL
    "ISA-L: yes",
#else
    "ISA-L: no (.gz files are packed and unpacked by zlib); install libisal-dev and build again",
#endif
#ifdef TULLE_HAVE_BZIP2
    "libbz2: yes",
#else
    "libbz2: no (.bz2 files are refused); install libbz2-dev and build again",
#endif
#ifdef TULLE_HAVE_LZMA
    "liblzma: yes",
#else
    "liblzma: no (.xz files are refused); install liblzma-dev and build again",
#endif
#ifdef TULLE_HAVE_ZSTD
    "libzstd: yes",
#else
    "libzstd: no (.zst files are refused); install libzstd-dev and build again",
#endif
#ifdef TULLE_HAVE_HDF5
    "HDF5: yes",
#else
    "HDF5: no (Binsparse files are refused); install libhdf5-dev and libcjson-dev and build again",
#endif
#ifdef TULLE_HAVE_CBLAS
    "BLAS: yes (" TULLE_BLAS_TEXT ")",
#else
    "BLAS: no (dense blocks are done by plain loops); install libopenblas-pthread-dev and build again",
#endif
#ifdef TULLE_HAVE_SUITESPARSE
    "SuiteSparse: yes",
#else
    "SuiteSparse: no (LU and Cholesky factors are refused); install libsuitesparse-dev and build again",
#endif
#ifdef TULLE_HAVE_LIBXSMM
    "LIBXSMM: yes",
#else
    "LIBXSMM: no (products of blocks take own kernels and the BLAS); install libxsmm-dev and build again",
#endif
#ifdef TULLE_HAVE_LAPACK
    "LAPACK: yes",
#else
    "LAPACK: no (block-jacobi is refused); install liblapack-dev and build again",
#endif
};

/* The widest instruction set of those built that this processor has. */
static const char *kernels(void)
{
    static const char *const texts[] = {"kernels: portable", "kernels: avx2", "kernels: avx512"};
    int i = 0;
    while (strcmp(texts[i] + strlen("kernels: "), tulle__kernels_cpu_isa()) != 0) i++;
    return texts[i];
}

const char *tulle_build_fact(int i)
{
    const int count = sizeof facts / sizeof *facts;
    return i >= 0 && i < count ? facts[i] : i == count ? kernels() : NULL;
}
