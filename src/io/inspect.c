/* SPDX-License-Identifier: Apache-2.0 */
/* Size and kind of an operand, from its header alone. */
#include <stdio.h>

#include <tulle/io.h>

#include "base/arg.h"
#include "base/options.h"
#include "io/binsparse/binsparse.h"
#include "io/content.h"
#include "io/generate/generate.h"
#include "io/load.h"
#include "io/mtx/mtx.h"
#include "io/npy/npy.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"

const char *tulle_operand_generator(int i, const char **sentence)
{
    return tulle__generator_name(i, sentence);
}

static tulle_status inspect_mtx(const char *path, const tulle_read_options *options, tulle_operand_shape *shape)
{
    tulle__mtx_options mtx_options = tulle__mtx_options_for(options);
    tulle__mtx *mtx;
    TULLE_CALL(tulle__mtx_open(path, &mtx_options, &mtx));
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    *shape = (tulle_operand_shape){.m = h->rows,
        .n = h->cols,
        .stored = h->stored,
        .dense = h->array,
        .symmetric = h->symmetry != TULLE__MTX_GENERAL,
        .skew = h->symmetry == TULLE__MTX_SKEW};
    snprintf(shape->format, sizeof shape->format, "%s, %s, %s, %s%s%s%s",
        h->bare ? "text without a header" : "matrix market", h->array ? "array" : "coordinate",
        tulle__mtx_field_name(h->field), h->hermitian ? "hermitian" : tulle__mtx_symmetry_name(h->symmetry),
        *h->packing ? ", " : "", h->packing, h->archive ? ", tar" : "");
    tulle__mtx_close(mtx);
    return TULLE_OK;
}

static tulle_status inspect_npy(const char *path, tulle_operand_shape *shape)
{
    tulle__npy *npy;
    TULLE_CALL(tulle__npy_open(path, &npy));
    const tulle__npy_header *h = tulle__npy_head(npy);
    *shape = (tulle_operand_shape){.m = h->rows, .n = h->cols, .stored = h->rows * h->cols, .dense = 1};
    snprintf(shape->format, sizeof shape->format, "numpy, %c%d, %s", h->array.kind, h->array.width,
        h->array.order == TULLE_ROW_MAJOR ? "row-major" : "column-major");
    tulle__npy_close(npy);
    return TULLE_OK;
}

static tulle_status inspect_npz(const char *path, tulle_operand_shape *shape)
{
    tulle__npz *npz;
    TULLE_CALL(tulle__npz_open(path, &npz));
    const tulle__npz_header *h = tulle__npz_head(npz);
    *shape = (tulle_operand_shape){.m = h->rows, .n = h->cols, .stored = h->stored};
    snprintf(shape->format, sizeof shape->format, "scipy, %s", tulle__npz_format_name(h->format));
    tulle__npz_close(npz);
    return TULLE_OK;
}

static tulle_status inspect_binsparse(const char *path, tulle_operand_shape *shape)
{
    tulle__binsparse *file;
    TULLE_CALL(tulle__binsparse_open(path, NULL, &file));
    const tulle__binsparse_header *h = tulle__binsparse_head(file);
    *shape = (tulle_operand_shape){.m = h->rows,
        .n = h->cols,
        .stored = h->stored,
        .dense = h->format == TULLE__BINSPARSE_DMATR || h->format == TULLE__BINSPARSE_DMATC,
        .symmetric = h->structure != TULLE__BINSPARSE_GENERAL,
        .skew = h->structure == TULLE__BINSPARSE_SKEW_LOWER || h->structure == TULLE__BINSPARSE_SKEW_UPPER};
    if (h->format == TULLE__BINSPARSE_BSR)
        snprintf(shape->format, sizeof shape->format, "binsparse, blocks of %d x %d%s", h->block, h->block,
            shape->symmetric ? ", half" : "");
    else
        snprintf(shape->format, sizeof shape->format, "binsparse");
    tulle__binsparse_close(file);
    return TULLE_OK;
}

static tulle_status inspect_petsc(const char *path, tulle_operand_shape *shape)
{
    tulle__petsc *petsc;
    TULLE_CALL(tulle__petsc_open(path, &petsc));
    const tulle__petsc_header *h = tulle__petsc_head(petsc);
    *shape = (tulle_operand_shape){.m = h->rows, .n = h->cols, .stored = h->stored, .dense = h->dense};
    snprintf(shape->format, sizeof shape->format, "petsc, %s, f%d%s",
        h->vector  ? "vector"
        : h->dense ? "dense"
                   : "aij",
        8 * h->value, h->index == 8 ? ", 64-bit indices" : "");
    tulle__petsc_close(petsc);
    return TULLE_OK;
}

static tulle_status inspect_generator(const char *text, tulle_operand_shape *shape)
{
    tulle__generator *generator;
    tulle__generator_shape g;
    TULLE_CALL(tulle__generator_open(text, &generator));
    tulle__generator_get_shape(generator, &g);
    *shape = (tulle_operand_shape){.m = g.m,
        .n = g.n,
        .stored = g.nnz >= 0 ? g.nnz
                  : g.edges  ? g.edges
                             : g.expected,
        .dense = g.is_dense,
        .by_slabs = tulle__generator_counts(generator) && g.nnz >= 0,
        .block = g.block};
    snprintf(shape->format, sizeof shape->format, "generated");
    tulle__generator_close(generator);
    return TULLE_OK;
}

tulle_status tulle_operand_inspect(const char *operand, const tulle_read_options *options, tulle_operand_shape *shape)
{
    tulle_read_options chosen;
    if (TULLE__NULL(operand) || TULLE__NULL(shape) || TULLE__OPTIONS(options, &chosen, duplicates) ||
        TULLE__OUTSIDE(options->type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(options->duplicates, TULLE_DUPLICATES_LAST))
        return TULLE_ERR_ARG;
    tulle__format format;
    TULLE_CALL(tulle__input_format(operand, options->assume, &format));
    switch (format) {
    case TULLE__FORMAT_NPY:
        return inspect_npy(operand, shape);
    case TULLE__FORMAT_NPZ:
        return inspect_npz(operand, shape);
    case TULLE__FORMAT_BINSPARSE:
        return inspect_binsparse(operand, shape);
    case TULLE__FORMAT_PETSC:
        return inspect_petsc(operand, shape);
    case TULLE__FORMAT_GENERATOR:
        return inspect_generator(operand, shape);
    case TULLE__FORMAT_MTX:
    case TULLE__FORMAT_COUNT:
        break;
    }
    return inspect_mtx(operand, options, shape);
}
