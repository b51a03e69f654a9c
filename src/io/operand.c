/* SPDX-License-Identifier: Apache-2.0 */
#include "io/operand.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "io/binsparse/binsparse.h"
#include "io/file/deflate.h"
#include "io/generate/generate.h"
#include "io/npy/npz.h"

/* File formats by ending, for reading and writing. */
static const struct ending {
    const char *text;
    tulle__format format;
    int sparse, dense, packed;
} endings[] = {{".mtx", TULLE__FORMAT_MTX, 1, 1, 0}, {".mtx.gz", TULLE__FORMAT_MTX, 1, 1, 1},
    {".npy", TULLE__FORMAT_NPY, 0, 1, 0}, {".npz", TULLE__FORMAT_NPZ, 1, 0, 0},
    {".h5", TULLE__FORMAT_BINSPARSE, 1, 1, 0}, {".hdf5", TULLE__FORMAT_BINSPARSE, 1, 1, 0},
    {".h5ad", TULLE__FORMAT_BINSPARSE, 0, 0, 0}, {".petsc", TULLE__FORMAT_PETSC, 1, 1, 0},
    {".csr", TULLE__FORMAT_MTX, 0, 0, 0}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const struct ending *ending_of(const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < ENDINGS; i++) {
        size_t e = strlen(endings[i].text);
        if (n >= e && strcasecmp(name + n - e, endings[i].text) == 0) return &endings[i];
    }
    return NULL;
}

tulle__format tulle__operand_format(const char *operand)
{
    const struct ending *ending = ending_of(operand);
    if (ending) return ending->format;
    if (tulle__binsparse_path(operand)) return TULLE__FORMAT_BINSPARSE;
    const char *colon = strchr(operand, ':'), *slash = strchr(operand, '/');
    if (tulle__generator_known(operand) || (colon && !slash)) return TULLE__FORMAT_GENERATOR;
    return TULLE__FORMAT_MTX;
}

int tulle__output_packed(const char *path)
{
    const struct ending *ending = ending_of(path);
    return ending && ending->packed;
}

static tulle_status refuse_ending(const char *path, tulle_kind kind, int known)
{
    if (!known && tulle__operand_format(path) == TULLE__FORMAT_GENERATOR)
        return tulle__fail(TULLE_ERR_ARG, "'%s' is not a file name: it reads as a generator's spec", path);
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "%s: %sa %s matrix can be written to a .mtx, .mtx.gz, %s, .petsc or .bsp.h5 file, or as Matrix Market to "
        "standard output, '-'",
        path, known ? "" : "unknown ending; ", kind == TULLE_CSR ? "sparse" : "dense",
        kind == TULLE_CSR ? ".npz" : ".npy");
}

tulle_status tulle__output_format(const char *path, tulle_kind kind, tulle__format *format)
{
    const struct ending *ending = strcmp(path, "-") == 0 ? &endings[0] : ending_of(path);
    if (!ending || !(kind == TULLE_CSR ? ending->sparse : ending->dense)) return refuse_ending(path, kind, !!ending);
    *format = ending->format;
    if (ending->packed) return tulle__deflate_present(path);
    if (ending->format == TULLE__FORMAT_NPZ) return tulle__zip_present(path);
    if (ending->format == TULLE__FORMAT_BINSPARSE) return tulle__binsparse_can_write(path);
    return TULLE_OK;
}
