/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/multivector.h"

#include <string.h>

#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"
#include "tile/element.h"

/* subtrees of a PE, about; levels of a subtree; rows of a tsmm at a time */
enum { PARTS = 64, LEVELS = 12, CHUNK = 256 };

static tulle_status list_parts(tulle__multi *multi)
{
    tulle__space *space = &multi->space;
    tulle_gidx most = space->block, end = space->first + space->rows;
    while (most * PARTS < space->rows) most *= 2;
    for (int pass = 0; pass < 2; pass++) {
        multi->nparts = 0;
        for (tulle_gidx at = space->first, size; at < end; at += size) {
            size = tulle__space_subtree(space, at, end, most);
            if (pass) multi->part[multi->nparts] = (tulle__multi_part){at, size};
            multi->nparts++;
        }
        if (!pass) TULLE_CALL(tulle__alloc((size_t)multi->nparts, sizeof *multi->part, "parts of sums", &multi->part));
    }
    return TULLE_OK;
}

tulle_status tulle__multi_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int most, tulle__multi *multi)
{
    tulle_status status;
    tulle__context *context;
    *multi = (tulle__multi){.most = most};
    TULLE_TRY(tulle__space_init(comm, layout, type, 0, most, &multi->space));
    TULLE_TRY(tulle__context_get(comm, &context));
    multi->kernels = context->kernels;
    TULLE_TRY(list_parts(multi));
    size_t threads = (size_t)tulle__pool_size(context->pool), width = (size_t)most;
    TULLE_TRY(tulle__alloc((size_t)multi->nparts * width, sizeof(double), "sums", &multi->sums));
    TULLE_TRY(tulle__alloc(threads * LEVELS * width, sizeof(double), "sums", &multi->workspace));
    TULLE_TRY(tulle__alloc((size_t)TULLE__MULTI_TERMS * TULLE__TALL_MOST * TULLE__TALL_MOST, tulle_type_size(type),
        "coefficients", &multi->mixing));
out:
    if (status != TULLE_OK) tulle__multi_fini(multi);
    return status;
}

void tulle__multi_fini(tulle__multi *multi)
{
    tulle__free(multi->part);
    tulle__free(multi->sums);
    tulle__free(multi->workspace);
    tulle__free(multi->mixing);
    tulle__free(multi->there);
    tulle__space_fini(&multi->space);
    *multi = (tulle__multi){.kernels = NULL};
}

tulle_status tulle__multi_enter(tulle__multi *multi, struct tulle__resident_vectors *resident, int width)
{
    enum { TASKS = 4 }; /* whose coefficients are under way */
    multi->space.resident = NULL;
    if (!resident) return TULLE_OK;
    size_t line = TULLE__TALL_MOST * tulle_type_size(multi->space.type);
    tulle__free(multi->there);
    multi->there = NULL;
    TULLE_CALL(tulle__alloc((size_t)multi->space.npieces * (size_t)multi->most, sizeof(double), "sums", &multi->there));
    TULLE_CALL(tulle__resident_coefficients(resident, (size_t)(TASKS * TULLE__MULTI_TERMS * (width + 1)) * line));
    multi->space.resident = resident;
    return TULLE_OK;
}

static const void *row_of(const tulle__multi *multi, const void *X, int64_t ld, int64_t row)
{
    return (const char *)X + (size_t)(row * ld) * tulle_type_size(multi->space.type);
}

/* ---- inner products ---- */

struct products {
    tulle__multi *multi;
    int count, width; /* width: of all sums */
    const tulle__multi_tsmttsm *gram;
    const tulle__tsmm_task *first; /* of the rows, before their products; NULL: none */
};

/* The number of sums of a product: half of them if it is symmetric. */
static int width_of(const tulle__multi_tsmttsm *g)
{
    return g->symmetric ? g->n * (g->n + 1) / 2 : g->m * g->n;
}

static void pack(const tulle__multi_tsmttsm *g, const double *full, double *sums)
{
    for (int i = 0; i < g->m; i++)
        for (int j = g->symmetric ? i : 0; j < g->n; j++) *sums++ = full[i * g->n + j];
}

static void unpack(const tulle__multi_tsmttsm *g, const double *sums)
{
    for (int i = 0; i < g->m; i++)
        for (int j = g->symmetric ? i : 0; j < g->n; j++) {
            g->G[i][j] = *sums++;
            if (g->symmetric) g->G[j][i] = g->G[i][j];
        }
}

/* Rows of a combination. */
static void combine_rows(const tulle__multi *multi, const tulle__tsmm_task *whole, int64_t from, int64_t rows)
{
    tulle__tsmm_term term[TULLE__MULTI_TERMS];
    tulle__tsmm_task task = *whole;
    for (int t = 0; t < task.nterms; t++) {
        term[t] = task.term[t];
        term[t].X = row_of(multi, term[t].X, term[t].ld, from);
    }
    task.term = term;
    task.rows = rows;
    task.Y = (char *)task.Y + (size_t)(from * task.ld) * tulle_type_size(task.type);
    multi->kernels->tsmm(&task);
}

static void multiply_rows(
    const tulle__multi *multi, const tulle__multi_tsmttsm *g, int64_t row, tulle_gidx size, double *sum)
{
    double full[TULLE__TALL_MOST * TULLE__TALL_MOST];
    multi->kernels->tsmttsm(&(tulle__tsmttsm_task){.type = multi->space.type,
        .symmetric = g->symmetric,
        .rows = size,
        .m = g->m,
        .n = g->n,
        .X = row_of(multi, g->X, g->ldx, row),
        .ldx = g->ldx,
        .Y = row_of(multi, g->Y, g->ldy, row),
        .ldy = g->ldy,
        .G = full});
    pack(g, full, sum);
}

/* A block, or a part of one. */
static void sum_rows(const struct products *all, tulle_gidx at, tulle_gidx size, double *sum)
{
    const tulle__multi *multi = all->multi;
    const int64_t row = at - multi->space.first;
    if (multi->space.resident) {
        int64_t piece = at / multi->space.block - multi->space.first / multi->space.block;
        memcpy(sum, multi->there + piece * all->width, (size_t)all->width * sizeof *sum);
        return;
    }
    if (all->first) combine_rows(multi, all->first, row, size);
    for (int i = 0; i < all->count; i++) {
        multiply_rows(multi, &all->gram[i], row, size, sum);
        sum += width_of(&all->gram[i]);
    }
}

static void add(int count, double *sum, const double *other)
{
    for (int d = 0; d < count; d++) sum[d] += other[d];
}

static void sum_subtree(const struct products *all, tulle_gidx at, tulle_gidx size, double *sum, double *workspace)
{
    if (size <= all->multi->space.block) {
        sum_rows(all, at, size, sum);
        return;
    }
    sum_subtree(all, at, size / 2, sum, workspace + all->width);
    sum_subtree(all, at + size / 2, size / 2, workspace, workspace + all->width);
    add(all->width, sum, workspace);
}

/* The sums of all blocks, on the device. Agreed. */
static tulle_status sum_there(const struct products *all)
{
    tulle__resident_vectors *resident = all->multi->space.resident;
    int at = 0;
    for (int i = 0; i < all->count; i++) {
        const tulle__multi_tsmttsm *g = &all->gram[i];
        tulle__resident_tsmttsm(resident, all->width, at,
            &(tulle__tsmttsm_task){
                .symmetric = g->symmetric, .m = g->m, .n = g->n, .X = g->X, .ldx = g->ldx, .Y = g->Y, .ldy = g->ldy});
        at += width_of(g);
    }
    return tulle_comm_agree(all->multi->space.comm, tulle__resident_sums(resident, all->width, all->multi->there));
}

static tulle_status share_grams(void *arg, int thread, int nthreads)
{
    const struct products *all = arg;
    tulle__multi *multi = all->multi;
    double *workspace = multi->workspace + (int64_t)thread * LEVELS * multi->most;
    for (int p = multi->nparts * thread / nthreads; p < multi->nparts * (thread + 1) / nthreads; p++)
        sum_subtree(all, multi->part[p].at, multi->part[p].size, multi->sums + (int64_t)p * all->width, workspace);
    return TULLE_OK;
}

/* A subtree of parts; *next: the first unused one. */
static void sum_parts(
    const struct products *all, tulle_gidx at, tulle_gidx size, int *next, double *sum, double *workspace)
{
    const tulle__multi *multi = all->multi;
    if (multi->part[*next].at == at && multi->part[*next].size == size) {
        memcpy(sum, multi->sums + (int64_t)*next * all->width, (size_t)all->width * sizeof *sum);
        ++*next;
        return;
    }
    sum_parts(all, at, size / 2, next, sum, workspace + all->width);
    sum_parts(all, at + size / 2, size / 2, next, workspace, workspace + all->width);
    add(all->width, sum, workspace);
}

/* done: of `first`. Collective, agreed. */
static tulle_status make_products(
    tulle__multi *multi, int count, const tulle__multi_tsmttsm *gram, const tulle__tsmm_task *first, tulle__work done)
{
    tulle__space *space = &multi->space;
    struct products all = {.multi = multi, .count = count, .gram = gram, .first = first};
    int64_t start = tulle__now(space->comm);
    double rows = (double)space->rows, *sums = multi->workspace;
    int next = 0;
    for (int i = 0; i < count; i++) {
        all.width += width_of(&gram[i]);
        done.memory += rows * (gram[i].m + gram[i].n) * (double)tulle_type_size(space->type);
        done.flops[TULLE_F64] += 2 * rows * width_of(&gram[i]);
    }
    if (space->resident) {
        TULLE_CALL(sum_there(&all));
        done = (tulle__work){.memory = 0};
    }
    tulle__kernel_begin(space->comm);
    (void)tulle__pool_run(space->pool, share_grams, &all);
    tulle__kernel_end(space->comm, &done);
    for (int s = 0; s < space->nsubtrees; s++) {
        const tulle__subtree *part = &space->subtree[s];
        if (part->rank == space->comm->rank)
            sum_parts(&all, part->at, part->size, &next, space->mine + part->slot * all.width, space->levels);
    }
    tulle_status status = tulle__space_meet(space, all.width, sums);
    for (int i = 0; status == TULLE_OK && i < count; i++) {
        unpack(&gram[i], sums);
        sums += width_of(&gram[i]);
    }
    tulle__part_end(space->comm, "dots", start, &space->dots_ns);
    return status;
}

tulle_status tulle__multi_tsmttsm_all(tulle__multi *multi, int count, const tulle__multi_tsmttsm *gram)
{
    return make_products(multi, count, gram, NULL, (tulle__work){.memory = 0});
}

/* ---- combinations ---- */

struct tsmm {
    tulle__multi *multi;
    tulle__tsmm_task task;
};

static tulle_status share_rows(void *arg, int thread, int nthreads)
{
    const struct tsmm *all = arg;
    const tulle__multi *multi = all->multi;
    int64_t rows = multi->space.rows, chunks = (rows + CHUNK - 1) / CHUNK;
    int64_t from = chunks * thread / nthreads * CHUNK, to = chunks * (thread + 1) / nthreads * CHUNK;
    if (to > rows) to = rows;
    if (from < to) combine_rows(multi, &all->task, from, to - from);
    return TULLE_OK;
}

/*
 * Coefficients in the kernel's layout: leading dimension TULLE__TALL_MOST, of the vectors' type,
 * zeros beyond the columns.
 */
static void *pack_coefficients(const tulle__multi_term *t, tulle_type type, void *to)
{
    for (int k = 0; k < t->k; k++)
        for (int j = 0; j < TULLE__TALL_MOST; j++) {
            double b = j >= t->n ? 0 : t->factor * (t->B ? t->B[k][j] : j == k);
            tulle__element_set(type, to, k * TULLE__TALL_MOST + j, b);
        }
    return (char *)to + (size_t)t->k * TULLE__TALL_MOST * tulle_type_size(type);
}

/* A combination with its coefficients packed, and its work; terms: of the task. */
static tulle__work prepare(
    tulle__multi *multi, int nterms, const tulle__multi_term *term, tulle__tsmm_term *terms, tulle__tsmm_task *task)
{
    const tulle__space *space = &multi->space;
    double rows = (double)space->rows, columns = (double)((task->add ? 2 : 1) * task->n);
    tulle__work done = {.memory = 0};
    void *coefficients = multi->mixing;
    for (int t = 0; t < nterms; t++) {
        terms[t] = (tulle__tsmm_term){.X = term[t].X, .ld = term[t].ld, .k = term[t].k, .B = coefficients};
        coefficients = pack_coefficients(&term[t], space->type, coefficients);
        columns += term[t].k;
        done.flops[space->type] += 2 * rows * term[t].n * term[t].k;
    }
    task->type = space->type;
    task->nterms = nterms;
    task->term = terms;
    done.memory = rows * columns * (double)tulle_type_size(space->type);
    return done;
}

void tulle__multi_tsmm(
    tulle__multi *multi, int nterms, const tulle__multi_term *term, int n, int add_to, void *Y, int64_t ld)
{
    tulle__space *space = &multi->space;
    tulle__tsmm_term terms[TULLE__MULTI_TERMS];
    struct tsmm all = {.multi = multi, .task = {.add = add_to, .n = n, .Y = Y, .ld = ld}};
    int64_t start = tulle__now(space->comm);
    const tulle__work done = prepare(multi, nterms, term, terms, &all.task);
    if (space->resident) {
        tulle__resident_tsmm(space->resident, &all.task);
    } else {
        tulle__kernel_begin(space->comm);
        (void)tulle__pool_run(space->pool, share_rows, &all);
        tulle__kernel_end(space->comm, &done);
    }
    tulle__part_end(space->comm, "vectors", start, &space->vectors_ns);
}

tulle_status tulle__multi_tsmm_tsmttsm(tulle__multi *multi, int nterms, const tulle__multi_term *term, int n, void *Y,
    int64_t ld, int count, const tulle__multi_tsmttsm *gram)
{
    tulle__tsmm_term terms[TULLE__MULTI_TERMS];
    tulle__tsmm_task first = {.add = 1, .n = n, .Y = Y, .ld = ld};
    if (multi->space.resident) {
        tulle__multi_tsmm(multi, nterms, term, n, 1, Y, ld);
        return tulle__multi_tsmttsm_all(multi, count, gram);
    }
    const tulle__work done = prepare(multi, nterms, term, terms, &first);
    return make_products(multi, count, gram, &first, done);
}
