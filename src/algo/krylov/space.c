/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/space.h"

#include <string.h>

#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"
#include "tile/element.h"

/*
 * ROWS_NEAR: rows of results that a combination processes at a time. These stay in a first-level
 * cache, while the other operands stream.
 */
enum { BLOCKS = 1024, LEVELS = 12, ROWS_LEAST = 128, ROWS_SHARED = 1 << 14, ROWS_NEAR = 1 << 10 };

int64_t tulle__space_block(tulle_gidx n)
{
    int64_t block = ROWS_LEAST;
    while (block * BLOCKS < n) block *= 2;
    return block;
}

tulle_gidx tulle__space_subtree(const tulle__space *space, tulle_gidx at, tulle_gidx end, tulle_gidx most)
{
    tulle_gidx size = space->block, rest = at % size;
    if (rest || at + size > end) return end - at < size - rest ? end - at : size - rest;
    while (2 * size <= most && at % (2 * size) == 0 && at + 2 * size <= end) size *= 2;
    return size;
}

/* subtree NULL: counts only. */
static void list_subtrees(tulle__space *space, const tulle_layout *layout, tulle__subtree *subtree)
{
    space->nsubtrees = space->slots = 0;
    for (int i = 0; i < layout->mt; i++) {
        int slot = 0;
        for (tulle_gidx at = layout->row_cut[i], end = layout->row_cut[i + 1], size; at < end; at += size) {
            size = tulle__space_subtree(space, at, end, INT64_MAX / 2);
            if (subtree)
                subtree[space->nsubtrees] = (tulle__subtree){at, size, tulle__layout_owner(layout, i, 0), slot};
            space->nsubtrees++;
            slot++;
        }
        if (slot > space->slots) space->slots = slot;
    }
}

tulle_status tulle__space_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int dots, int sums, tulle__space *space)
{
    tulle_status status = TULLE_OK;
    tulle__context *context;
    *space = (tulle__space){
        .comm = comm, .type = type, .n = layout->m, .block = tulle__space_block(layout->m), .most = sums};
    for (int i = 0; i < layout->mt; i++) {
        if (tulle__layout_owner(layout, i, 0) != comm->rank || layout->row_cut[i] == layout->row_cut[i + 1]) continue;
        space->first = layout->row_cut[i];
        space->rows = layout->row_cut[i + 1] - space->first;
    }
    if (space->rows) space->npieces = (space->first + space->rows - 1) / space->block - space->first / space->block + 1;
    list_subtrees(space, layout, NULL);
    TULLE_TRY(tulle__context_get(comm, &context));
    space->kernels = context->kernels;
    if (!tulle__is_virtual(comm) && space->rows >= ROWS_SHARED) space->pool = context->pool;
    size_t capacity = (size_t)space->slots * (size_t)sums;
    TULLE_TRY(tulle__alloc((size_t)space->nsubtrees, sizeof *space->subtree, "parts of sums", &space->subtree));
    TULLE_TRY(tulle__alloc((size_t)space->npieces * (size_t)dots, sizeof(double), "sums", &space->piece_sums));
    TULLE_TRY(tulle__alloc(capacity, sizeof(double), "sums", &space->mine));
    TULLE_TRY(tulle__alloc(capacity * (size_t)comm->size, sizeof(double), "sums of all PEs", &space->all));
    TULLE_TRY(tulle__alloc(LEVELS * (size_t)sums, sizeof(double), "sums", &space->levels));
    memset(space->mine, 0, capacity * sizeof(double));
    list_subtrees(space, layout, space->subtree);
out:
    if (status != TULLE_OK) tulle__space_fini(space);
    return status;
}

void tulle__space_fini(tulle__space *space)
{
    tulle__free(space->subtree);
    tulle__free(space->piece_sums);
    tulle__free(space->mine);
    tulle__free(space->all);
    tulle__free(space->levels);
    *space = (tulle__space){.comm = NULL};
}

/* ---- local work, by pieces ---- */

struct work {
    tulle__space *space;
    const tulle__combine_task *combination; /* combinations, followed by inner products */
    int combinations, dots;
    const void *const *x, *const *y; /* of inner products */
};

/* The first own row of a piece, or the end of the last one. */
static int64_t piece_begins(const tulle__space *space, int64_t piece)
{
    int64_t begin = space->first / space->block * space->block - space->first + piece * space->block;
    return begin < 0 ? 0 : begin > space->rows ? space->rows : begin;
}

/* Inner products from d on that share the same one or two y: returns the number of x. */
static int group(const struct work *work, int d, const void **x, int most, int *ny)
{
    const void *const *y = work->y + d;
    int nx = 0;
    *ny = d + 1 < work->dots && work->x[d] == work->x[d + 1] ? 2 : 1;
    for (; nx < most && d + *ny <= work->dots; d += *ny) {
        if (work->y[d] != y[0] || (*ny == 2 && (work->y[d + 1] != y[1] || work->x[d] != work->x[d + 1]))) break;
        x[nx++] = work->x[d];
    }
    return nx;
}

static void dots_on(const struct work *work, int64_t from, int64_t to)
{
    enum { MOST = TULLE__DEVICE_VECTORS };
    const tulle__space *space = work->space;
    const void *x[MOST];
    tulle__dots_task task = {.type = space->type, .x = x};
    for (int d = 0; d < work->dots; d += task.nx * task.ny) {
        task.nx = group(work, d, x, MOST, &task.ny);
        task.y = work->y + d;
        if (space->resident) {
            tulle__resident_dots(space->resident, work->dots, d, &task);
            continue;
        }
        for (int64_t piece = from; piece < to; piece++) {
            task.begin = piece_begins(space, piece);
            task.end = piece_begins(space, piece + 1);
            task.sums = &space->piece_sums[piece * work->dots + d];
            space->kernels->dots(&task);
        }
    }
}

static void combine_on(const struct work *work, int64_t from, int64_t to)
{
    int64_t first = piece_begins(work->space, from), last = piece_begins(work->space, to);
    for (int64_t begin = first, end; begin < last; begin = end) {
        end = last - begin < ROWS_NEAR ? last : begin + ROWS_NEAR;
        for (int i = 0; i < work->combinations; i++) {
            tulle__combine_task task = work->combination[i];
            task.type = work->space->type;
            task.begin = begin;
            task.end = end;
            work->space->kernels->combine(&task);
        }
    }
}

static tulle_status share(void *arg, int thread, int nthreads)
{
    const struct work *work = arg;
    const tulle__space *space = work->space;
    int64_t from = space->npieces * thread / nthreads, to = space->npieces * (thread + 1) / nthreads;
    combine_on(work, from, to);
    dots_on(work, from, to);
    return TULLE_OK;
}

/* Runs bodies that cannot fail; vectors: number read or written, each once. */
static void run(const struct work *work, int vectors)
{
    tulle__space *space = work->space;
    double rows = (double)space->rows, summands = work->dots;
    tulle__work done = {.memory = rows * vectors * (double)tulle_type_size(space->type)};
    for (int i = 0; i < work->combinations; i++) summands += work->combination[i].nx * work->combination[i].ny;
    done.flops[space->type] = 2 * rows * summands;
    if (space->resident) {
        for (int i = 0; i < work->combinations; i++) tulle__resident_combine(space->resident, &work->combination[i]);
        dots_on(work, 0, space->npieces);
        return;
    }
    tulle__kernel_begin(space->comm);
    (void)tulle__pool_run(space->pool, share, (void *)(uintptr_t)work);
    tulle__kernel_end(space->comm, &done);
}

void tulle__space_combine_all(tulle__space *space, int count, const tulle__combine_task *combination)
{
    struct work work = {.space = space, .combination = combination, .combinations = count};
    int64_t start = tulle__now(space->comm);
    int vectors = 0;
    for (int i = 0; i < count; i++) {
        vectors += combination[i].nx;
        for (int w = 0; w < combination[i].ny; w++) vectors += combination[i].beta[w] == 0 ? 1 : 2;
    }
    run(&work, vectors);
    tulle__part_end(space->comm, "vectors", start, &space->vectors_ns);
}

void tulle__space_combine(
    tulle__space *space, int count, const double *coef, const void *const *x, double beta, void *y)
{
    tulle__space_combine_all(space, 1,
        &(tulle__combine_task){.nx = count, .ny = 1, .x = x, .coef = coef, .beta = {beta, 0}, .y = {y, NULL}});
}

void tulle__space_scale(tulle__space *space, double coef, const void *x, void *y)
{
    tulle__space_combine(space, 1, &coef, &x, 0, y);
}

/* ---- the tree ---- */

static void add(int count, double *sum, const double *other)
{
    for (int d = 0; d < count; d++) sum[d] += other[d];
}

/* A subtree of own rows. workspace: for the levels below. */
static void sum_own(
    const tulle__space *space, int count, tulle_gidx at, tulle_gidx size, double *sum, double *workspace)
{
    if (size <= space->block) {
        memcpy(sum, space->piece_sums + (at / space->block - space->first / space->block) * count,
            (size_t)count * sizeof *sum);
        return;
    }
    sum_own(space, count, at, size / 2, sum, workspace + count);
    sum_own(space, count, at + size / 2, size / 2, workspace, workspace + count);
    add(count, sum, workspace);
}

/* A subtree of the whole tree, from received sums; *next: the first unused one. */
static void sum_all(
    const tulle__space *space, int count, tulle_gidx at, tulle_gidx size, int *next, double *sum, double *workspace)
{
    const tulle__subtree *s = &space->subtree[*next];
    if (s->at == at && (s->size == size || size == space->block)) {
        memset(sum, 0, (size_t)count * sizeof *sum);
        for (; *next < space->nsubtrees && s->at < at + size; s = &space->subtree[++*next])
            add(count, sum, space->all + ((int64_t)s->rank * space->slots + s->slot) * count);
        return;
    }
    sum_all(space, count, at, size / 2, next, sum, workspace + count);
    if (at + size / 2 >= space->n) return;
    sum_all(space, count, at + size / 2, size / 2, next, workspace, workspace + count);
    add(count, sum, workspace);
}

/* Publishes own sums, in the order of slots. */
static void hand_on(tulle__space *space, int count)
{
    for (int s = 0; s < space->nsubtrees; s++) {
        const tulle__subtree *part = &space->subtree[s];
        if (part->rank == space->comm->rank)
            sum_own(space, count, part->at, part->size, space->mine + part->slot * count, space->levels);
    }
}

tulle_status tulle__space_meet(tulle__space *space, int count, double *result)
{
    tulle_gidx root = space->block;
    int next = 0;
    tulle_status status = tulle_comm_agree(space->comm,
        tulle_comm_allgather(space->comm, space->mine, (size_t)(space->slots * count) * sizeof(double), space->all));
    while (root < space->n) root *= 2;
    if (status == TULLE_OK) {
        if (space->n)
            sum_all(space, count, 0, root, &next, result, space->levels);
        else
            memset(result, 0, (size_t)count * sizeof *result);
    }
    space->reductions++;
    return status;
}

tulle_status tulle__space_dots(
    tulle__space *space, int count, const void *const *x, const void *const *y, double *result)
{
    struct work work = {.space = space, .dots = count, .x = x, .y = y};
    int64_t start = tulle__now(space->comm);
    int vectors = 1;
    for (int d = 0; d < count; d++) vectors += !d || x[d] != x[d - 1];
    tulle_status status = TULLE_OK;
    run(&work, vectors);
    if (space->resident)
        status = tulle_comm_agree(space->comm, tulle__resident_sums(space->resident, count, space->piece_sums));
    hand_on(space, count);
    if (status == TULLE_OK) status = tulle__space_meet(space, count, result);
    tulle__part_end(space->comm, "dots", start, &space->dots_ns);
    return status;
}

/* ---- lines ---- */

struct squares {
    const tulle__space *space;
    int count;
    const void *lines;
    int64_t ld;
};

static void squares_of(void *arg, int64_t from, int64_t to)
{
    const struct squares *q = arg;
    for (int64_t piece = from; piece < to; piece++) {
        double sum[TULLE__SPACE_LINES] = {0};
        for (int64_t r = piece_begins(q->space, piece); r < piece_begins(q->space, piece + 1); r++)
            for (int c = 0; c < q->count; c++) {
                const double x = tulle__element(q->space->type, q->lines, r * q->ld + c);
                sum[c] += x * x;
            }
        memcpy(q->space->piece_sums + piece * q->count, sum, (size_t)q->count * sizeof *sum);
    }
}

tulle_status tulle__space_squares(tulle__space *space, int count, const void *lines, int64_t ld, double *result)
{
    struct squares squares = {space, count, lines, ld};
    const int64_t start = tulle__now(space->comm);
    const double numbers = (double)space->rows * count;
    tulle__work done = {.memory = numbers * (double)tulle_type_size(space->type)};
    done.flops[TULLE_F64] = 2 * numbers;
    tulle__kernel_begin(space->comm);
    tulle__pool_blocks(space->pool, space->npieces, 1, squares_of, &squares);
    tulle__kernel_end(space->comm, &done);
    hand_on(space, count);
    const tulle_status status = tulle__space_meet(space, count, result);
    tulle__part_end(space->comm, "dots", start, &space->dots_ns);
    return status;
}
