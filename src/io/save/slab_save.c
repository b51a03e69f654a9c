/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a generated matrix directly to a file: PE 0 generates and writes some rows at a time, so
 * that memory holds only these. The other PEs wait; PE 0 therefore has the threads of all PEs, if
 * there are enough cores. For a file of blocks all rows are generated twice, or three times if the
 * format is chosen by the matrix.
 */
#include <string.h>

#include <tulle/io.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse.h"
#include "io/generate/generate.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"
#include "io/save/block_writer.h"
#include "io/save/save.h"
#include "mat/mat.h"

enum { SLAB = 1 << 18 }; /* values, about */

/* Rows r0 .. r1 - 1, and the threads that generate them. */
struct slab {
    const tulle__generator *generator;
    tulle__generator_shape shape;
    tulle_type type;
    tulle__pool *pool;
    int64_t r0, r1, before; /* entries of the previous rows */
    int64_t *rowptr;        /* from 0 */
    int32_t *colind;
    void *val;
};

/* A consumer of rows. */
struct target {
    tulle_status (*take)(struct target *to, struct slab *slab);
    const char *what;
    int block; /* rows arrive in multiples of this */
    tulle__binsparse_writer *binary;
    tulle__entry_put put;
    void *writer; /* its argument */
    tulle__mtx_writer *text;
    const tulle__mtx_shape *text_shape;
    tulle__mtx_text *texts; /* one a thread */
    tulle__blocks_facts facts;
    tulle__block_writer *blocks;
};

static void slab_fini(struct slab *slab)
{
    tulle__free(slab->rowptr);
    tulle__free(slab->colind);
    tulle__free(slab->val);
    slab->rowptr = NULL;
    slab->colind = NULL;
    slab->val = NULL;
}

/* Allocates room for `rows` rows with up to `most` entries in total. */
static tulle_status slab_init(struct slab *slab, int64_t rows, int64_t most)
{
    TULLE_CALL(tulle__alloc((size_t)rows + 1, sizeof *slab->rowptr, "row pointers of a slab", &slab->rowptr));
    TULLE_CALL(tulle__alloc((size_t)most, sizeof *slab->colind, "columns of a slab", &slab->colind));
    return tulle__alloc((size_t)most, tulle_type_size(slab->type), "values of a slab", &slab->val);
}

static tulle_status make_part(void *arg, int thread, int nthreads)
{
    struct slab *slab = arg;
    int64_t rows = slab->r1 - slab->r0, begin = rows * thread / nthreads, end = rows * (thread + 1) / nthreads;
    tulle__generator_put(slab->generator, slab->r0 + begin, slab->r0 + end, 0, slab->shape.n, slab->type,
        slab->rowptr + begin, slab->colind, slab->val);
    return TULLE_OK;
}

/* ---- consumers ---- */

struct text_task {
    struct target *to;
    const struct slab *slab;
};

static tulle_status format_part(void *arg, int thread, int nthreads)
{
    const struct text_task *task = arg;
    const struct slab *slab = task->slab;
    tulle__mtx_text *text = &task->to->texts[thread];
    const int64_t *rowptr = slab->rowptr;
    int64_t rows = slab->r1 - slab->r0, begin = rows * thread / nthreads, end = rows * (thread + 1) / nthreads;
    text->bytes = 0;
    text->entries = 0;
    for (int64_t r = begin; r < end; r++)
        TULLE_CALL(tulle__mtx_format_row(task->to->text_shape, slab->r0 + r, rowptr[r + 1] - rowptr[r], 0,
            slab->colind + rowptr[r], (const char *)slab->val + (size_t)rowptr[r] * tulle_type_size(slab->type), text));
    return TULLE_OK;
}

static tulle_status take_text(struct target *to, struct slab *slab)
{
    tulle_status status = tulle__pool_run(slab->pool, format_part, &(struct text_task){to, slab});
    for (int t = 0; t < tulle__pool_size(slab->pool) && status == TULLE_OK; t++)
        status = tulle__mtx_writer_append(to->text, &to->texts[t]);
    return status;
}

static tulle_status take_entries(struct target *to, struct slab *slab)
{
    int64_t rows = slab->r1 - slab->r0, nnz = slab->rowptr[rows];
    TULLE_CALL(tulle__binsparse_write_columns(to->binary, slab->before, nnz, slab->colind));
    TULLE_CALL(tulle__binsparse_write_values(to->binary, slab->before, nnz, slab->val));
    for (int64_t r = 0; r <= rows; r++) slab->rowptr[r] += slab->before;
    /* the first pointer is the last one of the previous slab */
    int64_t skip = slab->r0 > 0;
    return tulle__binsparse_write_pointers(to->binary, slab->r0 + skip, rows + 1 - skip, slab->rowptr + skip);
}

/* One by one, to a writer of another format. */
static tulle_status take_single(struct target *to, struct slab *slab)
{
    const char *val = slab->val;
    for (int64_t r = 0; r < slab->r1 - slab->r0; r++)
        for (int64_t e = slab->rowptr[r]; e < slab->rowptr[r + 1]; e++) {
            TULLE_CALL(
                to->put(to->writer, slab->r0 + r, slab->colind[e], val + (size_t)e * tulle_type_size(slab->type)));
        }
    return TULLE_OK;
}

static tulle__csr csr_of(const struct slab *slab)
{
    return (tulle__csr){
        .m = slab->r1 - slab->r0, .n = slab->shape.n, .rowptr = slab->rowptr, .colind = slab->colind, .val = slab->val};
}

static tulle__tile_row rows_of(const struct slab *slab, const tulle__csr *csr)
{
    static const tulle_gidx left = 0;
    return (tulle__tile_row){
        .type = slab->type, .first = slab->r0, .m = csr->m, .n = csr->n, .ntiles = 1, .tile = csr, .col = &left};
}

static tulle_status take_look(struct target *to, struct slab *slab)
{
    tulle__csr csr = csr_of(slab);
    tulle__tile_row rows = rows_of(slab, &csr);
    return tulle__block_inspect(slab->pool, &rows, &to->facts);
}

static tulle_status take_count(struct target *to, struct slab *slab)
{
    tulle__csr csr = csr_of(slab);
    tulle__tile_row rows = rows_of(slab, &csr);
    return tulle__block_writer_count(to->blocks, &rows);
}

static tulle_status take_blocks(struct target *to, struct slab *slab)
{
    tulle__csr csr = csr_of(slab);
    tulle__tile_row rows = rows_of(slab, &csr);
    return tulle__block_writer_put(to->blocks, &rows);
}

/* ---- */

/* Passes all rows to a consumer. */
static tulle_status each_slab(struct slab *slab, tulle__progress_meter *meter, struct target *to)
{
    int64_t m = slab->shape.m, most = slab->shape.nnz / (m ? m : 1) * 2 + 1,
            step = SLAB / (to->block * to->block) / most + 1;
    tulle_status status;
    step = (step + to->block - 1) / to->block * to->block;
    if (step > m) step = m;
    tulle__progress_meter_start(meter, to->what, "entries", slab->shape.nnz);
    TULLE_TRY(slab_init(slab, step, step * most));
    slab->before = 0;
    for (slab->r0 = 0; slab->r0 < m; slab->r0 = slab->r1) {
        slab->r1 = slab->r0 + step < m ? slab->r0 + step : m;
        tulle__generator_count(slab->generator, slab->r0, slab->r1, 0, slab->shape.n, slab->rowptr);
        int64_t nnz = slab->rowptr[slab->r1 - slab->r0];
        TULLE_TRY(tulle__pool_run(slab->pool, make_part, slab));
        TULLE_TRY(to->take(to, slab));
        slab->before += nnz;
        tulle__progress_meter_set(meter, slab->before, slab->shape.nnz);
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    slab_fini(slab);
    return status;
}

static tulle_status save_text(struct slab *slab, tulle__progress_meter *meter, int packers, const char *path)
{
    tulle__mtx_shape shape = {.rows = slab->shape.m,
        .cols = slab->shape.n,
        .stored = slab->shape.nnz,
        .type = slab->type,
        .field = TULLE__MTX_REAL,
        .symmetry = TULLE__MTX_GENERAL};
    struct target to = {.take = take_text, .what = "writing", .block = 1, .text_shape = &shape};
    int nthreads = tulle__pool_size(slab->pool);
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero((size_t)nthreads, sizeof *to.texts, "texts", &to.texts));
    TULLE_TRY(tulle__mtx_writer_open(path, &shape, packers, &to.text));
    status = tulle__mtx_writer_close(to.text, each_slab(slab, meter, &to));
out:
    for (int t = 0; to.texts && t < nthreads; t++) tulle__mtx_text_fini(&to.texts[t]);
    tulle__free(to.texts);
    return status;
}

static tulle_status save_entries(struct slab *slab, tulle__progress_meter *meter, const char *path)
{
    tulle__binsparse_sparse sparse = {
        .rows = slab->shape.m, .cols = slab->shape.n, .count = slab->shape.nnz, .type = slab->type};
    struct target to = {.take = take_entries, .what = "writing", .block = 1};
    TULLE_CALL(tulle__binsparse_writer_open(path, &sparse, &to.binary));
    return tulle__binsparse_writer_close(to.binary, each_slab(slab, meter, &to));
}

static tulle_status save_npz(struct slab *slab, tulle__progress_meter *meter, const char *path)
{
    tulle__npz_writer *writer;
    const tulle__npz_sparse sparse = {
        .rows = slab->shape.m, .cols = slab->shape.n, .count = slab->shape.nnz, .type = slab->type};
    TULLE_CALL(tulle__npz_writer_open(path, &sparse, &writer));
    struct target to = {.take = take_single, .what = "writing", .block = 1, .put = tulle__put_npz, .writer = writer};
    return tulle__npz_writer_close(writer, each_slab(slab, meter, &to));
}

static tulle_status save_petsc(struct slab *slab, tulle__progress_meter *meter, const char *path)
{
    tulle__petsc_writer *writer;
    TULLE_CALL(tulle__petsc_writer_open(path, slab->shape.m, slab->shape.n, slab->shape.nnz, slab->type, &writer));
    struct target to = {.take = take_single, .what = "writing", .block = 1, .put = tulle__put_petsc, .writer = writer};
    return tulle__petsc_writer_close(writer, each_slab(slab, meter, &to));
}

static tulle_status save_blocks(
    struct slab *slab, tulle__progress_meter *meter, const tulle__block_wanted *wanted, const char *path)
{
    struct target to = {.take = take_look, .what = "looking at", .block = 1};
    tulle__block_choice choice;
    tulle_status status = TULLE_OK;
    if (tulle__block_needs_inspection(wanted)) TULLE_TRY(each_slab(slab, meter, &to));
    TULLE_TRY(tulle__block_decide(slab->shape.m, slab->shape.n, &to.facts, wanted, 1, slab->type, &choice));
    if (!choice.pays) return save_entries(slab, meter, path);
    tulle__block_shape shape = {.m = slab->shape.m,
        .n = slab->shape.n,
        .nnz = slab->shape.nnz,
        .block = choice.block,
        .half = choice.half,
        .values = wanted->values};
    TULLE_TRY(tulle__block_writer_new(slab->pool, &shape, &to.blocks));
    to.block = choice.block;
    to.take = take_count;
    to.what = "counting blocks";
    TULLE_TRY(each_slab(slab, meter, &to));
    TULLE_TRY(tulle__block_writer_open(to.blocks, path));
    to.take = take_blocks;
    to.what = "writing";
    TULLE_TRY(each_slab(slab, meter, &to));
    return tulle__block_writer_close(to.blocks);
out:
    tulle__block_writer_free(to.blocks);
    return status;
}

static tulle_status save_generated(
    tulle_comm *comm, const tulle__generator *generator, tulle_type type, const char *path, const char *format)
{
    struct slab slab = {.generator = generator, .type = type};
    tulle__progress_meter *meter = tulle__comm_progress_meter(comm, 0);
    tulle__block_wanted wanted;
    tulle__format ending;
    TULLE_CALL(tulle__file_format(path, format, type, &wanted));
    TULLE_CALL(tulle__output_format(path, TULLE_CSR, &ending));
    tulle__generator_get_shape(generator, &slab.shape);
    if (slab.shape.n > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%lld columns are too many", (long long)slab.shape.n);
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__pool_new(tulle__save_threads(comm), &slab.pool));
    switch (ending) {
    case TULLE__FORMAT_BINSPARSE:
        status = wanted.plain ? save_entries(&slab, meter, path) : save_blocks(&slab, meter, &wanted, path);
        break;
    case TULLE__FORMAT_NPZ:
        status = save_npz(&slab, meter, path);
        break;
    case TULLE__FORMAT_PETSC:
        status = save_petsc(&slab, meter, path);
        break;
    default:
        status = save_text(&slab, meter, tulle__save_packers(comm, path), path);
    }
    tulle__pool_free(slab.pool);
    return status;
}

tulle_status tulle_operand_save(
    tulle_comm *comm, const char *operand, tulle_type type, const char *path, const char *format)
{
    if (TULLE__NULL(comm) || TULLE__NULL(operand) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(path))
        return tulle__refuse(comm);
    tulle__generator *generator = NULL;
    tulle_status status;
    TULLE_TRY(tulle__wants_values(comm, "writing a matrix"));
    if (comm->rank == 0) {
        TULLE_TRY(tulle__generator_open(operand, &generator));
        tulle__generator_shape shape = {.nnz = -1};
        tulle__generator_get_shape(generator, &shape);
        if (!tulle__generator_counts(generator) || shape.nnz < 0)
            TULLE_TRY(
                tulle__fail(TULLE_ERR_UNSUPPORTED, "%s cannot be generated by slabs: load it, then save it", operand));
        TULLE_TRY(save_generated(comm, generator, type, path, format));
    }
out:
    tulle__generator_close(generator);
    return tulle_comm_agree(comm, status);
}
