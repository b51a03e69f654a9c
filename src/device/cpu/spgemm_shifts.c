/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stretches of rows that are shifts of each other in A and B, and turns the values there by 90 degrees, so that
 * an entry's values in consecutive rows lie side by side (as a diagonal format has them). See spgemm_shifts.h.
 *
 * Cost: A's and B's columns read once, their values read and written once, by all threads.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/cpu/spgemm.h"

/* Stretches end with blocks of rows, which are such that their entries' values do not all fall into one set of a cache.
 */
enum { SAMPLES = 512, BLOCK = 8136, TURN = 64 };

static const double GOLDEN = 0.6180339887498949;

/* Whether row i has the columns of row i - 1, each one further on. */
static int is_shift(const tulle__csr *A, int64_t i)
{
    const int32_t *row = A->colind + A->rowptr[i], *before = A->colind + A->rowptr[i - 1];
    int64_t len = A->rowptr[i + 1] - A->rowptr[i];
    int32_t differ = 0;
    if (A->rowptr[i] - A->rowptr[i - 1] != len || len == 0 || row[0] != before[0] + 1) return 0;
    for (int64_t a = 0; a < len; a++) differ |= row[a] ^ (before[a] + 1);
    return !differ;
}

/* Whether at least half of the entries in a sample of rows lie in shifts of the row before. */
static int often_shifted(const tulle__csr *A)
{
    int64_t entries = 0, shifted = 0;
    for (int64_t s = 0; s < SAMPLES && A->m > 1; s++) {
        double at = (double)s * GOLDEN - (double)(int64_t)((double)s * GOLDEN); /* in step with no grid */
        int64_t i = 1 + (int64_t)((double)(A->m - 1) * at), len = A->rowptr[i + 1] - A->rowptr[i];
        entries += len;
        if (is_shift(A, i)) shifted += len;
    }
    return shifted > 0 && 2 * shifted >= entries;
}

/* ---- stretches ---- */

struct search {
    const tulle__csr *A;
    tulle__stretch *row;
};

static void find_stretches(void *arg, int64_t begin, int64_t end)
{
    struct search *job = arg;
    for (int64_t first = begin, i = begin + 1; i <= end; i++) {
        if (i < end && is_shift(job->A, i)) continue;
        for (int64_t r = first; r < i; r++) job->row[r] = (tulle__stretch){first, i};
        first = i;
    }
}

static tulle_status make_stretches(tulle__pool *pool, const tulle__csr *A, tulle__stretch **row)
{
    struct search job = {.A = A};
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)A->m, sizeof **row, "stretches of shifted rows", row));
    job.row = *row;
    tulle__pool_blocks(pool, A->m, BLOCK, find_stretches, &job);
out:
    return status;
}

/* The part of the rows that lies in stretches worth it. */
static double covered(const tulle__csr *A, const tulle__stretch *row)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < A->m; i = row[i].end)
        if (row[i].end - i >= TULLE__SHIFT_ROWS) rows += row[i].end - i;
    return (double)rows / (double)A->m;
}

/* ---- values ---- */

struct turn {
    const tulle__csr *A;
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
    const int64_t *ap = job->A->rowptr;
    size_t size = tulle_type_size(job->type);
    for (int64_t i = begin; i < end; i = job->row[i].end) {
        int64_t rows = job->row[i].end - i, len = ap[i + 1] - ap[i];
        const char *from = (const char *)job->A->val + (size_t)ap[i] * size;
        char *to = job->to + (size_t)(ap[i] - ap[0]) * size;
        if (rows < TULLE__SHIFT_ROWS) continue;
        job->type == TULLE_F32 ? turn_f32(from, to, rows, len) : turn_f64(from, to, rows, len);
    }
}

static tulle_status make_values(
    tulle__pool *pool, tulle_type type, const tulle__csr *A, const tulle__stretch *row, void **val)
{
    struct turn job = {.A = A, .row = row, .type = type};
    tulle_status status;
    TULLE_TRY(tulle__alloc(
        (size_t)(A->rowptr[A->m] - A->rowptr[0]), tulle_type_size(type), "the values of shifted rows", val));
    job.to = *val;
    tulle__pool_blocks(pool, A->m, BLOCK, turn_values, &job);
out:
    return status;
}

/* ---- of a product ---- */

void tulle__spgemm_drop_shifts(tulle__spgemm_plan *plan)
{
    for (int p = 0; plan->shifts && p < plan->task->npairs; p++) {
        tulle__shifts *shifts = &plan->shifts[p];
        if (shifts->A != shifts->B) tulle__free(shifts->A);
        if (shifts->a_val != shifts->b_val) tulle__free(shifts->a_val);
        tulle__free(shifts->B);
        tulle__free(shifts->b_val);
    }
    tulle__free(plan->shifts);
    plan->shifts = NULL;
}

static tulle_status make_pair(tulle__pool *pool, tulle_type type, const tulle__spgemm_pair *pair, tulle__shifts *shifts)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    tulle_status status;
    TULLE_TRY(make_stretches(pool, B, &shifts->B));
    TULLE_TRY(make_values(pool, type, B, shifts->B, &shifts->b_val));
    if (!A->rowptr) return TULLE_OK;
    if (tulle__same_arrays(A, B))
        shifts->A = shifts->B;
    else
        TULLE_TRY(make_stretches(pool, A, &shifts->A));
    if (shifts->A == shifts->B && A->val == B->val)
        shifts->a_val = shifts->b_val;
    else
        TULLE_TRY(make_values(pool, type, A, shifts->A, &shifts->a_val));
out:
    return status;
}

/* Whether the rows of A and B are shifts of each other, by a sample of them. */
static int promising(const tulle__spgemm_task *task)
{
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        if ((pair->A.rowptr && !often_shifted(&pair->A)) || !often_shifted(&pair->B)) return 0;
    }
    return task->npairs > 0;
}

tulle_status tulle__spgemm_make_shifts(tulle__spgemm_plan *plan, tulle__pool *pool, double *part)
{
    const tulle__spgemm_task *task = plan->task;
    tulle_status status = TULLE_OK;
    *part = 0;
    if (plan->knobs.shifts <= 0 && !promising(task)) return TULLE_OK;
    TULLE_TRY(
        tulle__alloc_zero((size_t)task->npairs, sizeof *plan->shifts, "stretches of shifted rows", &plan->shifts));
    *part = 1;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        TULLE_TRY(make_pair(pool, task->type, pair, &plan->shifts[p]));
        double here =
            covered(pair->A.rowptr ? &pair->A : &pair->B, plan->shifts[p].A ? plan->shifts[p].A : plan->shifts[p].B);
        if (here < *part) *part = here;
    }
out:
    if (status != TULLE_OK) {
        tulle__spgemm_drop_shifts(plan);
        *part = 0;
    }
    return status;
}

int64_t tulle__spgemm_shifted_rows(const tulle__spgemm_plan *plan, int64_t i, int64_t end)
{
    int64_t rows = end - i;
    for (int p = 0; p < plan->task->npairs && rows >= TULLE__SHIFT_ROWS; p++) {
        const tulle__csr *A = &plan->task->pair[p].A;
        const tulle__shifts *shifts = &plan->shifts[p];
        int64_t a = 0, last = 0, k = i;
        if (A->rowptr) {
            if (shifts->A[i].end - i < rows) rows = shifts->A[i].end - i;
            a = A->rowptr[i];
            last = A->rowptr[i + 1] - 1;
        }
        for (; a <= last && rows >= TULLE__SHIFT_ROWS; a++) {
            if (A->rowptr) k = A->colind[a];
            if (shifts->B[k].end - k < rows) rows = shifts->B[k].end - k;
        }
    }
    return rows >= TULLE__SHIFT_ROWS ? rows : 0;
}
