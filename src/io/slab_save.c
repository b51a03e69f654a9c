/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generated matrix straight into a file: PE 0 makes some rows at a time and writes them, so that memory never holds
 * more than these. The other PEs wait, so it has as many threads as all of them, if there are cores for these.
 */
#include <string.h>
#include <unistd.h>

#include <tulle/io.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse.h"
#include "io/generate.h"
#include "io/operand.h"
#include "io/save.h"
#include "mat/mat.h"

enum { SLAB = 1 << 18 }; /* entries, about */

struct slab {
    const tulle__generator *generator;
    tulle__generator_shape shape;
    tulle_type type;
    int64_t r0, r1;
    int64_t *rowptr, *wide; /* from 0; columns of 64 bits, for a Binsparse file */
    int32_t *colind;
    void *val;
    /* for a text, one a thread */
    const tulle__mtx_shape *text_shape;
    tulle__mtx_text *text;
};

static void slab_fini(struct slab *slab, int nthreads)
{
    tulle__free(slab->rowptr);
    tulle__free(slab->wide);
    tulle__free(slab->colind);
    tulle__free(slab->val);
    for (int t = 0; slab->text && t < nthreads; t++) tulle__mtx_text_fini(&slab->text[t]);
    tulle__free(slab->text);
}

/* Room for `rows` rows of at most `most` entries together. */
static tulle_status slab_init(struct slab *slab, int64_t rows, int64_t most, int nthreads)
{
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)rows + 1, sizeof *slab->rowptr, "row pointers of a slab", &slab->rowptr));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *slab->wide, "columns of a slab", &slab->wide));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *slab->colind, "columns of a slab", &slab->colind));
    TULLE_TRY(tulle__alloc((size_t)most, tulle_type_size(slab->type), "values of a slab", &slab->val));
    TULLE_TRY(tulle__alloc_zero((size_t)nthreads, sizeof *slab->text, "texts", &slab->text));
out:
    return status;
}

/* Each thread makes some of the rows, and what the file wants beside. */
static tulle_status make_part(void *arg, int thread, int nthreads)
{
    struct slab *slab = arg;
    int64_t rows = slab->r1 - slab->r0, begin = rows * thread / nthreads, end = rows * (thread + 1) / nthreads;
    int64_t *rowptr = slab->rowptr;
    tulle_status status = TULLE_OK;
    tulle__generator_put(slab->generator, slab->r0 + begin, slab->r0 + end, 0, slab->shape.n, slab->type,
        rowptr + begin, slab->colind, slab->val);
    if (!slab->text_shape) {
        for (int64_t e = rowptr[begin]; e < rowptr[end]; e++) slab->wide[e] = slab->colind[e];
        return TULLE_OK;
    }
    tulle__mtx_text *text = &slab->text[thread];
    text->bytes = 0;
    text->entries = 0;
    for (int64_t r = begin; r < end && status == TULLE_OK; r++)
        status = tulle__mtx_format_row(slab->text_shape, slab->r0 + r, rowptr[r + 1] - rowptr[r], 0,
            slab->colind + rowptr[r], (const char *)slab->val + (size_t)rowptr[r] * tulle_type_size(slab->type), text);
    return status;
}

/* Where slabs go: one of the two. */
struct target {
    tulle__binsparse_writer *binary;
    tulle__mtx_writer *text;
};

static tulle_status put_slab(struct target *to, struct slab *slab, int64_t before, int nthreads)
{
    tulle_status status = TULLE_OK;
    int64_t rows = slab->r1 - slab->r0, nnz = slab->rowptr[rows];
    if (to->text) {
        for (int t = 0; t < nthreads; t++) TULLE_TRY(tulle__mtx_writer_append(to->text, &slab->text[t]));
        return status;
    }
    TULLE_TRY(tulle__binsparse_write_indices(to->binary, before, nnz, slab->wide));
    TULLE_TRY(tulle__binsparse_write_values(to->binary, before, nnz, slab->val));
    for (int64_t r = 0; r <= rows; r++) slab->rowptr[r] += before;
    /* the first pointer is the last of the slab before */
    int64_t skip = slab->r0 > 0;
    TULLE_TRY(tulle__binsparse_write_pointers(to->binary, slab->r0 + skip, rows + 1 - skip, slab->rowptr + skip));
out:
    return status;
}

static tulle_status put_all(tulle_comm *comm, const tulle__generator *generator, struct slab *slab, struct target *to)
{
    tulle__pool *pool = NULL;
    tulle__meter *meter = tulle__comm_meter(comm, 0);
    int64_t m = slab->shape.m, most = slab->shape.nnz / m * 2 + 1, step = SLAB / most + 1, done = 0;
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN), threads = (int64_t)comm->size * comm->pe->threads;
    if (threads > cores) threads = cores;
    if (threads < comm->pe->threads) threads = comm->pe->threads;
    tulle_status status = tulle__pool_new((int)threads, &pool);
    if (status != TULLE_OK) return status;
    int nthreads = (int)threads;
    if (step > m) step = m;
    tulle__meter_start(meter, "writing", "entries", slab->shape.nnz);
    TULLE_TRY(slab_init(slab, step, step * most, nthreads));
    for (slab->r0 = 0; slab->r0 < m; slab->r0 = slab->r1) {
        slab->r1 = slab->r0 + step < m ? slab->r0 + step : m;
        tulle__generator_count(generator, slab->r0, slab->r1, 0, slab->shape.n, slab->rowptr);
        int64_t nnz = slab->rowptr[slab->r1 - slab->r0];
        TULLE_TRY(tulle__pool_run(pool, make_part, slab));
        TULLE_TRY(put_slab(to, slab, done, nthreads));
        done += nnz;
        tulle__meter_set(meter, done, slab->shape.nnz);
    }
out:
    tulle__meter_stop(meter, status == TULLE_OK);
    slab_fini(slab, nthreads);
    tulle__pool_free(pool);
    return status;
}

static tulle_status save_generated(
    tulle_comm *comm, const tulle__generator *generator, tulle_type type, const char *path)
{
    struct slab slab = {.generator = generator, .type = type};
    struct target to = {.text = NULL};
    tulle_status status;
    tulle__generator_get_shape(generator, &slab.shape);
    tulle__mtx_shape shape = {.rows = slab.shape.m,
        .cols = slab.shape.n,
        .stored = slab.shape.nnz,
        .type = type,
        .field = TULLE__MTX_REAL,
        .symmetry = TULLE__MTX_GENERAL};
    if (slab.shape.n > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%lld columns are too many", (long long)slab.shape.n);
    switch (tulle__operand_format(path)) {
    case TULLE__FORMAT_BINSPARSE:
        status = tulle__binsparse_writer_open(
            path, shape.rows, shape.cols, shape.stored, type, 0, TULLE__BINSPARSE_GENERAL, &to.binary);
        break;
    case TULLE__FORMAT_MTX:
        slab.text_shape = &shape;
        status = tulle__mtx_writer_open(path, &shape, tulle__save_level(path), &to.text);
        break;
    default:
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: a sparse matrix goes into .bsp.h5 or .mtx", path);
    }
    if (status != TULLE_OK) return status;
    status = put_all(comm, generator, &slab, &to);
    if (status == TULLE_OK)
        return to.text ? tulle__mtx_writer_close(to.text, 0) : tulle__binsparse_writer_close(to.binary, 0);
    tulle__mtx_writer_abort(to.text);
    tulle__binsparse_writer_abort(to.binary);
    return status;
}

tulle_status tulle_operand_save(tulle_comm *comm, const char *operand, tulle_type type, const char *path)
{
    tulle__generator *generator = NULL;
    tulle_status status = tulle__wants_values(comm, "writing a matrix");
    if (comm->rank == 0 && status == TULLE_OK) {
        status = tulle__generator_open(operand, &generator);
        if (status == TULLE_OK && !tulle__generator_counts(generator))
            status = tulle__fail(TULLE_ERR_UNSUPPORTED, "%s is not made by slabs: load it, then save it", operand);
        if (status == TULLE_OK) status = save_generated(comm, generator, type, path);
    }
    tulle__generator_close(generator);
    return tulle_comm_agree(comm, status);
}
