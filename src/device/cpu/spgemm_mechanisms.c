/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/spgemm_mechanisms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"

enum way { CHOSEN, ROWS, RUNS, OFFSETS, PANELS, SETS, SCANNED, LISTED, ORDERED, HASHED, WAYS };
_Static_assert((int)WAYS == TULLE_PRODUCT_MECHANISMS, "the public list has room for all");

static const struct {
    const char *name;
    tulle__spgemm_tuning tuning;
} ways[WAYS] = {[CHOSEN] = {"chosen", {0}},
    [ROWS] = {"rows", {.runs = -1, .offsets = -1, .panels = -1}},
    [RUNS] = {"runs", {.runs = 1, .offsets = -1, .panels = -1}},
    [OFFSETS] = {"offsets", {.runs = -1, .offsets = 1, .panels = -1}},
    [PANELS] = {"panels", {.panels = 1}},
    [SETS] = {"sets", {.runs = -1, .offsets = -1, .panels = 2, .accumulator = TULLE__ACCUMULATOR_DENSE}},
    [SCANNED] = {"scanned", {.runs = -1, .panels = -1, .accumulator = TULLE__ACCUMULATOR_DENSE}},
    [LISTED] = {"listed", {.runs = -1, .panels = -1, .accumulator = TULLE__ACCUMULATOR_LISTED}},
    [ORDERED] = {"ordered", {.runs = -1, .panels = -1, .accumulator = TULLE__ACCUMULATOR_ORDERED}},
    [HASHED] = {"hashed", {.runs = -1, .panels = -1, .accumulator = TULLE__ACCUMULATOR_HASH}}};

/* ---- estimates ---- */

/*
 * Figures of a product: multiplications, entries of A, rows of B, entries of C and words of bits that they span, by a
 * sample of rows.
 */
struct figures {
    double rows, products, a, b_rows, c, words;
};

/* Distinct columns of row i and the words that they span; seen: a byte a column, zero before and after. */
static void look_at_row(const tulle__spgemm_task *task, int64_t i, uint8_t *seen, int64_t *entries, int64_t *words)
{
    int32_t lo = INT32_MAX, hi = -1;
    *entries = 0;
    for (int turn = 0; turn < 2; turn++) /* marks, then unmarks */
        for (int p = 0; p < task->npairs; p++) {
            const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
            const int64_t begin = A->rowptr ? A->rowptr[i] : 0, end = A->rowptr ? A->rowptr[i + 1] : 1;
            for (int64_t a = begin; a < end; a++) {
                const int64_t k = A->rowptr ? A->colind[a] : i;
                for (int64_t b = B->rowptr[k]; b < B->rowptr[k + 1]; b++) {
                    const int32_t c = B->colind[b];
                    *entries += turn == 0 && !seen[c];
                    seen[c] = turn == 0;
                    lo = c < lo ? c : lo;
                    hi = c > hi ? c : hi;
                }
            }
        }
    *words = hi < 0 ? 0 : (hi >> 6) - (lo >> 6) + 1;
}

static tulle_status look(const tulle__spgemm_plan *plan, struct figures *f)
{
    const tulle__spgemm_task *task = plan->task;
    double entries = 0, words = 0;
    TULLE__SCOPED uint8_t *seen = NULL;
    *f = (struct figures){.rows = (double)task->m, .products = (double)plan->flops};
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        f->a += (double)(ap ? ap[task->m] - ap[0] : task->m);
        f->b_rows += (double)task->pair[p].B.m;
    }
    if (!plan->flops) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero((size_t)task->n, 1, "the marks of a row of C", &seen));
    for (int s = 0; s < TULLE__SAMPLES; s++) {
        int64_t in_row, span;
        look_at_row(task, plan->sample[s].i, seen, &in_row, &span);
        entries += (double)in_row / (double)plan->sample[s].flops;
        words += (double)span / (double)plan->sample[s].flops;
    }
    f->c = entries / TULLE__SAMPLES * f->products;
    f->words = words / TULLE__SAMPLES * f->products;
    return TULLE_OK;
}

/*
 * Nanoseconds of one thread, as measured on a Zen 4 of 2.6 GHz: for a row and an entry of A; a product; a word of bits;
 * an entry of C. NAN: no estimate.
 */
static double estimate(enum way way, const tulle__spgemm_plan *plan, const struct figures *f)
{
    const double row = 30 * f->rows + 5 * f->a, a_row = f->rows > 0 ? f->c / f->rows : 0;
    const double sets = f->b_rows * (double)plan->npanels * TULLE__PANEL_WORDS; /* words to be written */
    const double bytes = (double)plan->task->n * (double)tulle_type_size(plan->task->type);
    const double sum = bytes <= 24576 ? 0.9 : plan->near ? 1.3 : 2.5; /* the array in the first-level cache, or near */
    switch (way) {
    case SCANNED:
        return row + (sum + 0.36) * f->products + 0.15 * f->words + 1.5 * f->c;
    case LISTED:
        return row + (sum + 0.3) * f->products + (a_row <= 128 ? 1.5 + 0.02 * a_row : 8) * f->c;
    case ORDERED:
        return row + 2.6 * f->products + 1.5 * f->c;
    case HASHED:
        return row + 2.3 * f->products + 6 * f->c;
    case SETS:
        return row + sets + sum * f->products + 0.5 * f->a * (double)plan->npanels + 1.5 * f->c;
    case RUNS:
        return 2 * row + (0.12 + 2.5 / plan->run) * f->products + 0.7 * f->c;
    case PANELS:
        return sets + 1.5 * f->c +
               (plan->grouped > 0 ? plan->grouped : 1.3 * f->products + 9 * f->a * (double)plan->npanels);
    case ROWS:
        return fmin(estimate(SCANNED, plan, f), fmin(estimate(LISTED, plan, f), estimate(ORDERED, plan, f)));
    default:
        return NAN;
    }
}

static enum way chosen_by(const tulle__spgemm_plan *plan)
{
    return plan->groups ? PANELS : plan->runs ? RUNS : plan->offsets ? OFFSETS : plan->panels ? SETS : ROWS;
}

/* ---- measurement ---- */

/* C's arrays stay from product to product, so that no time goes into pages. */
struct arrays {
    int64_t capacity;
    tulle__csr_result C;
};

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct arrays *kept = context;
    if (!kept->C.rowptr)
        TULLE_CALL(tulle__alloc((size_t)m + 1, sizeof *kept->C.rowptr, "row pointers of C", &kept->C.rowptr));
    if (nnz > kept->capacity) {
        tulle__free(kept->C.colind);
        tulle__free(kept->C.val);
        kept->C.colind = NULL;
        kept->C.val = NULL;
        kept->capacity = 0;
        TULLE_CALL(tulle__alloc((size_t)nnz, sizeof *kept->C.colind, "columns of C", &kept->C.colind));
        TULLE_CALL(tulle__alloc((size_t)nnz, sizeof(double), "values of C", &kept->C.val));
        kept->capacity = nnz;
    }
    *C = kept->C;
    return TULLE_OK;
}

static tulle_status stay(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)context;
    (void)m;
    (void)nnz;
    (void)C;
    return TULLE_OK;
}

static void least(double *time, double start)
{
    const double took = tulle__clock_seconds() - start;
    if (*time == 0 || took < *time) *time = took;
}

static tulle_status measure(
    tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task, int reps, tulle_product_mechanism *mechanism)
{
    enum { HOPELESS = 8, BEYOND = 30 };
    tulle__spgemm_task own = *task;
    struct arrays kept = {0};
    tulle_status status = TULLE_OK;
    own.trim = stay;
    for (int turn = -1; turn < reps; turn++)
        for (int x = 0; x < WAYS; x++) {
            const int w = turn % 2 > 0 ? WAYS - 1 - x : x; /* what a way leaves in the caches meets another one */
            tulle_product_mechanism *of = &mechanism[w];
            tulle__csr_result C;
            if (of->estimate > BEYOND * mechanism->estimate) continue;
            if (turn > 0 && of->fresh > HOPELESS * mechanism->fresh && of->kept > HOPELESS * mechanism->kept) continue;
            if (turn == 0) of->fresh = of->kept = 0;
            double start = tulle__clock_seconds();
            TULLE_TRY(tulle__spgemm_cpu(isa, &ways[w].tuning, pool, &own, place, &kept, &C));
            least(&of->fresh, start);
            start = tulle__clock_seconds();
            TULLE_TRY(tulle__spgemm_cpu_numeric(isa, &ways[w].tuning, pool, &own, &C));
            least(&of->kept, start);
        }
out:
    tulle__free(kept.C.rowptr);
    tulle__free(kept.C.colind);
    tulle__free(kept.C.val);
    return status;
}

tulle_status tulle__spgemm_explain(
    tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task, int reps, tulle_product_mechanism *mechanism)
{
    tulle__spgemm_plan plan;
    struct figures f;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__spgemm_plan_init(&plan, &ways[CHOSEN].tuning, pool, task, false));
    const enum way chosen = chosen_by(&plan);
    TULLE_TRY(look(&plan, &f));
    for (int w = 0; w < WAYS; w++) {
        mechanism[w] = (tulle_product_mechanism){.chosen = w == (int)chosen};
        snprintf(mechanism[w].name, sizeof mechanism[w].name, "%s", ways[w].name);
        const double ns = estimate(w == CHOSEN ? chosen : (enum way)w, &plan, &f);
        mechanism[w].estimate = ns * 1e-9 / tulle__pool_size(pool);
    }
    if (reps > 0) status = measure(isa, pool, task, reps, mechanism);
out:
    tulle__spgemm_plan_fini(&plan);
    return status;
}
