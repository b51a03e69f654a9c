/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stretches of constant-offset rows in A and B, and transposes B's values there, so that an entry's values in
 * consecutive rows lie side by side (as in a diagonal format). See spgemm_offsets.h.
 *
 * Cost: A's and B's columns read once, B's values read and written once, by all threads; of B the rows between the
 * first and the last that A's stretches take, which are few where A is a tile beside the diagonal.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"

/* Stretches end with blocks of rows, which are such that their entries' values do not all fall into one set of a cache.
 */
enum { SAMPLES = 512, EARLY = 32, BLOCK = 8136, TURN = 64 };

/*
 * True if row i has the columns of row i - 1, each one further on; none, if that has none: a tile beside the diagonal
 * is empty almost everywhere, and must not end the stretches of the tile on it.
 */
static int continues_offsets(const tulle__csr *A, int64_t i)
{
    const int32_t *row = A->colind + A->rowptr[i], *before = A->colind + A->rowptr[i - 1];
    int64_t len = A->rowptr[i + 1] - A->rowptr[i];
    int32_t differ = 0;
    if (A->rowptr[i] - A->rowptr[i - 1] != len) return 0;
    if (len > 0 && row[0] != before[0] + 1) return 0;
    for (int64_t a = 0; a < len; a++) differ |= row[a] ^ (before[a] + 1);
    return !differ;
}

/* Entries, and those of them in constant-offset rows; of a sample, or in stretches. */
struct share {
    double entries, offset;
};

/* Adds what a sample of A's rows says of all of them. */
static void sample(const tulle__csr *A, struct share *of)
{
    const int64_t samples = A->m < SAMPLES ? A->m : SAMPLES;
    int64_t entries = 0, offset = 0, s = 0;
    for (; s < samples && A->m > 1 && (s != EARLY || 8 * offset >= entries); s++) { /* so few are not most */
        const int64_t i = 1 + tulle__spread(s, A->m - 1), len = A->rowptr[i + 1] - A->rowptr[i];
        entries += len;
        if (continues_offsets(A, i)) offset += len;
    }
    if (!s) return;
    of->entries += (double)A->m / (double)s * (double)entries;
    of->offset += (double)A->m / (double)s * (double)offset;
}

static int often(const struct share *of)
{
    return of->offset > 0 && 2 * of->offset >= of->entries;
}

/* ---- stretches ---- */

struct search {
    const tulle__csr *A;
    int64_t begin; /* of the rows searched */
    tulle__stretch *row;
};

static void find_stretches(void *arg, int64_t begin, int64_t end)
{
    struct search *job = arg;
    begin += job->begin;
    end += job->begin;
    for (int64_t first = begin, i = begin + 1; i <= end; i++) {
        if (i < end && continues_offsets(job->A, i)) continue;
        for (int64_t r = first; r < i; r++) job->row[r] = (tulle__stretch){first, i};
        first = i;
    }
}

/* Makes stretches of the rows in `of`. */
static tulle_status make_stretches(tulle__pool *pool, const tulle__csr *A, tulle__stretch of, tulle__stretch **row)
{
    struct search job = {.A = A, .begin = of.first};
    TULLE_CALL(tulle__alloc((size_t)A->m, sizeof **row, "stretches of constant-offset rows", row));
    job.row = *row;
    tulle__pool_blocks(pool, of.end - of.first, BLOCK, find_stretches, &job);
    return TULLE_OK;
}

/* The rows of B from the first to the last that A's stretches take. */
static tulle__stretch rows_taken(const tulle__csr *A, const tulle__stretch *row)
{
    tulle__stretch of = {.first = INT64_MAX};
    for (int64_t i = 0; i < A->m; i = row[i].end) {
        int64_t rows = row[i].end - i;
        if (rows < TULLE__OFFSET_ROWS) continue;
        for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++) {
            int64_t k = A->colind[a];
            if (k < of.first) of.first = k;
            if (k + rows > of.end) of.end = k + rows;
        }
    }
    return of.end ? of : (tulle__stretch){0};
}

/* Adds A's entries, and those in stretches worth it. */
static void add_covered(const tulle__csr *A, const tulle__stretch *row, struct share *of)
{
    for (int64_t i = 0; i < A->m; i = row[i].end) {
        double entries = (double)(A->rowptr[row[i].end] - A->rowptr[i]);
        of->entries += entries;
        if (row[i].end - i >= TULLE__OFFSET_ROWS) of->offset += entries;
    }
}

/* ---- values ---- */

struct turn {
    const tulle__csr *B;
    int64_t begin; /* of the rows turned */
    const tulle__stretch *row;
    char *to;
    tulle_type type;
};

#define TURN_ROWS(T, suffix)                                                                                           \
    /* `rows` rows of len values; those of an entry become consecutive. */                                             \
    static void turn_##suffix(const void *from, void *to, int64_t rows, int64_t len)                                   \
    {                                                                                                                  \
        const T *x = from;                                                                                             \
        T *y = to;                                                                                                     \
        for (int64_t r = 0; r < rows; r += TURN) {                                                                     \
            int64_t end = r + TURN < rows ? r + TURN : rows;                                                           \
            for (int64_t e = 0; e < len; e++)                                                                          \
                for (int64_t t = r; t < end; t++) y[e * rows + t] = x[t * len + e];                                    \
        }                                                                                                              \
    }
TURN_ROWS(float, f32)
TURN_ROWS(double, f64)

static void turn_values(void *arg, int64_t begin, int64_t end)
{
    struct turn *job = arg;
    const int64_t *bp = job->B->rowptr;
    size_t size = tulle_type_size(job->type);
    for (int64_t k = job->begin + begin; k < job->begin + end; k = job->row[k].end) {
        int64_t rows = job->row[k].end - k, len = bp[k + 1] - bp[k];
        const char *from = (const char *)job->B->val + (size_t)bp[k] * size;
        char *to = job->to + (size_t)(bp[k] - bp[0]) * size;
        if (rows < TULLE__OFFSET_ROWS) continue;
        job->type == TULLE_F32 ? turn_f32(from, to, rows, len) : turn_f64(from, to, rows, len);
    }
}

static tulle_status make_values(
    tulle__pool *pool, tulle_type type, const tulle__csr *B, tulle__stretch of, const tulle__stretch *row, void **val)
{
    struct turn job = {.B = B, .begin = of.first, .row = row, .type = type};
    TULLE_CALL(tulle__alloc(
        (size_t)(B->rowptr[B->m] - B->rowptr[0]), tulle_type_size(type), "the values of constant-offset rows", val));
    job.to = *val;
    tulle__pool_blocks(pool, of.end - of.first, BLOCK, turn_values, &job);
    return TULLE_OK;
}

/* ---- of a product ---- */

void tulle__spgemm_drop_offsets(tulle__spgemm_plan *plan)
{
    for (int p = 0; plan->offsets && p < plan->task->npairs; p++) {
        tulle__offset_rows *offsets = &plan->offsets[p];
        if (offsets->A != offsets->B) tulle__free(offsets->A);
        tulle__free(offsets->B);
        tulle__free(offsets->b_val);
    }
    tulle__free(plan->offsets);
    plan->offsets = NULL;
}

static tulle_status make_pair(
    tulle__pool *pool, tulle_type type, const tulle__spgemm_pair *pair, tulle__offset_rows *offsets)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    const int same = A->rowptr && tulle__same_arrays(A, B);
    tulle__stretch of = {.end = B->m};
    if (A->rowptr && !same) {
        TULLE_CALL(make_stretches(pool, A, (tulle__stretch){.end = A->m}, &offsets->A));
        of = rows_taken(A, offsets->A);
    }
    TULLE_CALL(make_stretches(pool, B, of, &offsets->B));
    TULLE_CALL(make_values(pool, type, B, of, offsets->B, &offsets->b_val));
    if (same) offsets->A = offsets->B;
    offsets->same = same && A->val == B->val;
    return TULLE_OK;
}

/* True if most entries of A's tiles, and of B's, lie in constant-offset rows, by a sample of them. */
static int promising(const tulle__spgemm_task *task)
{
    struct share A = {0}, B = {0};
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        sample(pair->A.rowptr ? &pair->A : &pair->B, &A);
        if (!pair->A.rowptr || !tulle__same_arrays(&pair->A, &pair->B)) sample(&pair->B, &B);
    }
    return often(&A) && (B.entries == 0 || often(&B));
}

tulle_status tulle__spgemm_make_offsets(tulle__spgemm_plan *plan, tulle__pool *pool, double *part)
{
    const tulle__spgemm_task *task = plan->task;
    struct share covered = {0};
    tulle_status status = TULLE_OK;
    *part = 0;
    if (plan->tuning.offsets <= 0 && !promising(task)) return TULLE_OK;
    TULLE_TRY(tulle__alloc_zero(
        (size_t)task->npairs, sizeof *plan->offsets, "stretches of constant-offset rows", &plan->offsets));
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        tulle__offset_rows *offsets = &plan->offsets[p];
        TULLE_TRY(make_pair(pool, task->type, pair, offsets));
        pair->A.rowptr ? add_covered(&pair->A, offsets->A, &covered) : add_covered(&pair->B, offsets->B, &covered);
    }
    if (covered.entries > 0) *part = covered.offset / covered.entries;
out:
    if (status != TULLE_OK) tulle__spgemm_drop_offsets(plan);
    return status;
}

int64_t tulle__spgemm_offset_rows(const tulle__spgemm_plan *plan, int64_t i, int64_t end)
{
    int64_t rows = end - i;
    for (int p = 0; p < plan->task->npairs && rows >= TULLE__OFFSET_ROWS; p++) {
        const tulle__csr *A = &plan->task->pair[p].A;
        const tulle__offset_rows *offsets = &plan->offsets[p];
        int64_t a = 0, last = 0, k = i;
        if (A->rowptr) {
            if (offsets->A[i].end - i < rows) rows = offsets->A[i].end - i;
            a = A->rowptr[i];
            last = A->rowptr[i + 1] - 1;
        }
        for (; a <= last && rows >= TULLE__OFFSET_ROWS; a++) {
            if (A->rowptr) k = A->colind[a];
            if (offsets->B[k].end - k < rows) rows = offsets->B[k].end - k;
        }
    }
    return rows >= TULLE__OFFSET_ROWS ? rows : 0;
}
