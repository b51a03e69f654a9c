/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether rows of C are worth making eight at a time, panel of columns by panel, and prepares B for it: each
 * row as a set of bits, and where its entries of each panel begin. See spgemm_panels.h. Rows of C that are made one by
 * one (spgemm_dense.h) take their columns from the sets, too, where an entry of B is used often.
 *
 * Cost: B's and A's columns read once; n / 8 + n / 128 bytes a row of B written, no more than 8.5 an entry.
 */
#include <math.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"

enum { BLOCK = 256, SAMPLES = 16, LEAST = 2, STRIDE = 5 }; /* STRIDE: samples that are left out are spread */

/* ---- rows of B ---- */

struct mark {
    const tulle__csr *B;
    tulle__panel_rows *to;
    int64_t npanels;
    atomic_int unordered;
};

/* Bits and starts of row k; whether its columns ascend. */
static int mark_row(const struct mark *job, int64_t k)
{
    const int32_t *col = job->B->colind + job->B->rowptr[k];
    const int32_t n = (int32_t)(job->B->rowptr[k + 1] - job->B->rowptr[k]);
    uint64_t *bits = job->to->bits + k * job->npanels * TULLE__PANEL_WORDS;
    int32_t *start = job->to->start + k * (job->npanels + 1), before = -1, ascend = 1;
    int64_t panel = 0;
    for (int64_t w = 0; w < job->npanels * TULLE__PANEL_WORDS; w++) bits[w] = 0;
    for (int32_t e = 0; e < n; e++) {
        ascend &= col[e] > before;
        before = col[e];
        bits[before >> 6] |= (uint64_t)1 << (before & 63);
        for (; panel <= before / TULLE__PANEL; panel++) start[panel] = e;
    }
    for (; panel <= job->npanels; panel++) start[panel] = n;
    return ascend;
}

static void mark_rows(void *arg, int64_t begin, int64_t end)
{
    struct mark *job = arg;
    for (int64_t k = begin; k < end; k++)
        if (!mark_row(job, k)) atomic_store_explicit(&job->unordered, 1, memory_order_relaxed);
}

static tulle_status make_rows(tulle__pool *pool, const tulle__csr *B, int64_t npanels, tulle__panel_rows *to, int *fit)
{
    struct mark job = {.B = B, .to = to, .npanels = npanels};
    TULLE_CALL(
        tulle__alloc((size_t)(B->m * npanels * TULLE__PANEL_WORDS), sizeof *to->bits, "rows of bits", &to->bits));
    TULLE_CALL(tulle__alloc((size_t)(B->m * (npanels + 1)), sizeof *to->start, "rows of panels", &to->start));
    tulle__pool_blocks(pool, B->m, BLOCK, mark_rows, &job);
    if (atomic_load_explicit(&job.unordered, memory_order_relaxed)) *fit = 0;
    return TULLE_OK;
}

/* ---- rows of A ---- */

static int ascends(const int32_t *col, int64_t n)
{
    int ascend = 1;
    for (int64_t a = 1; a < n; a++) ascend &= col[a] > col[a - 1];
    return ascend;
}

struct check {
    const tulle__csr *A;
    atomic_int unordered;
};

static void check_rows(void *arg, int64_t begin, int64_t end)
{
    struct check *job = arg;
    const int64_t *ap = job->A->rowptr;
    for (int64_t i = begin; i < end; i++)
        if (!ascends(job->A->colind + ap[i], ap[i + 1] - ap[i]))
            atomic_store_explicit(&job->unordered, 1, memory_order_relaxed);
}

static int is_ordered(tulle__pool *pool, const tulle__csr *A)
{
    struct check job = {.A = A};
    tulle__pool_blocks(pool, A->m, BLOCK, check_rows, &job);
    return !atomic_load_explicit(&job.unordered, memory_order_relaxed);
}

/* ---- whether ---- */

/* Work of groups of rows: products, the entries of B that they take part in, and the rows of B; entries of A. */
struct work {
    int64_t products, entries, rows, looked;
};

static void count_group(const tulle__spgemm_pair *pair, int64_t i, int64_t m, struct work *work)
{
    const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
    int64_t at[TULLE__PANEL_ROWS], rows = m - i < TULLE__PANEL_ROWS ? m - i : TULLE__PANEL_ROWS;
    for (int64_t r = 0; r < rows; r++) at[r] = ap[i + r];
    for (;;) {
        int32_t k = INT32_MAX;
        int64_t sharing = 0;
        for (int64_t r = 0; r < rows; r++)
            if (at[r] < ap[i + r + 1] && pair->A.colind[at[r]] < k) k = pair->A.colind[at[r]];
        if (k == INT32_MAX) return;
        for (int64_t r = 0; r < rows; r++)
            if (at[r] < ap[i + r + 1] && pair->A.colind[at[r]] <= k) {
                at[r]++;
                sharing++;
            }
        work->products += sharing * (bp[k + 1] - bp[k]);
        work->entries += bp[k + 1] - bp[k];
        work->rows++;
        work->looked += sharing;
    }
}

/* Entries and rows of all B that have any. */
static struct work size_of(const tulle__spgemm_task *task)
{
    struct work size = {0};
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *B = &task->pair[p].B;
        const int64_t entries = B->rowptr[B->m] - B->rowptr[0];
        size.entries += entries;
        if (entries) size.rows += B->m;
    }
    return size;
}

/* True if rows of B have so many entries a panel. */
static int fills_panels(const tulle__spgemm_plan *plan, int64_t entries)
{
    const struct work size = size_of(plan->task);
    return size.entries / entries >= size.rows * plan->npanels;
}

/*
 * True if eight rows at a time would be faster, by a sample and what was measured (nanoseconds; only their ratios
 * matter): 1.3 for an entry of B and 9 for the loop over those of a panel, against 0.12 a product and 2.5 a run of B's
 * columns, or, without runs, 1.3 a product, 0.9 where the sums of a row stay in the first-level cache.
 */
static int promising(tulle__spgemm_plan *plan)
{
    enum { FIRST_LEVEL = 3 << 13, TO_LOOK = 500 }; /* at an entry of A takes what some products do: a fiftieth in all */
    static const double SPARE = 1.1;
    const tulle__spgemm_task *task = plan->task;
    struct work work = {0};
    if (!fills_panels(plan, TULLE__PANEL_WORDS)) return 0; /* a bit a column is worth it */
    for (int64_t s = 0; s < SAMPLES && (s < LEAST || work.looked < plan->flops / TO_LOOK); s++)
        for (int p = 0; p < task->npairs; p++)
            if (task->pair[p].A.rowptr)
                count_group(&task->pair[p], task->m / SAMPLES * (s * STRIDE % SAMPLES), task->m, &work);
    const double product = task->n * (int64_t)tulle_type_size(task->type) <= FIRST_LEVEL ? 0.9 : 1.3;
    plan->grouped = 1.3 * (double)work.entries + 9 * (double)(work.rows * plan->npanels);
    const double singly = (plan->run >= 2 ? 0.12 + 2.5 / plan->run : product) * (double)work.products;
    const int promises = singly > SPARE * plan->grouped;
    plan->grouped *= (double)plan->flops / fmax(1, (double)work.products); /* of the sample, then of all */
    return promises;
}

void tulle__spgemm_drop_panels(tulle__spgemm_plan *plan)
{
    for (int p = 0; plan->panels && p < plan->task->npairs; p++) {
        tulle__free(plan->panels[p].bits);
        tulle__free(plan->panels[p].start);
    }
    tulle__free(plan->panels);
    plan->panels = NULL;
    plan->groups = 0;
}

/* *fit = 0: rows are not in order. */
static tulle_status make_all(tulle__spgemm_plan *plan, tulle__pool *pool, int *fit)
{
    const tulle__spgemm_task *task = plan->task;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero((size_t)task->npairs, sizeof *plan->panels, "panels of columns", &plan->panels));
    *fit = 1;
    for (int p = 0; *fit && p < task->npairs; p++)
        TULLE_TRY(make_rows(pool, &task->pair[p].B, plan->npanels, &plan->panels[p], fit));
out:
    if (status != TULLE_OK || !*fit) tulle__spgemm_drop_panels(plan);
    return status;
}

tulle_status tulle__spgemm_make_panels(tulle__spgemm_plan *plan, tulle__pool *pool)
{
    const tulle__spgemm_task *task = plan->task;
    int fit;
    plan->npanels = (task->n + TULLE__PANEL - 1) / TULLE__PANEL;
    if (plan->tuning.panels <= 0 && !promising(plan)) return TULLE_OK;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        if (pair->A.rowptr && !tulle__same_arrays(&pair->A, &pair->B) && !is_ordered(pool, &pair->A)) return TULLE_OK;
    }
    const tulle_status status = make_all(plan, pool, &fit);
    plan->groups = plan->panels != NULL;
    return status;
}

tulle_status tulle__spgemm_make_sets(tulle__spgemm_plan *plan, tulle__pool *pool)
{
    /* an entry of A marks so many columns in the time that it takes with the bits of a panel; entries of B a panel,
     * below which bits are too many; how often an entry of B is used, for which it is worth a mark of its own */
    enum { MARKS = 24, LEAST_FILL = 4, REUSED = 8 };
    const tulle__spgemm_task *task = plan->task;
    int64_t looked = 0;
    int fit;
    plan->npanels = (task->n + TULLE__PANEL - 1) / TULLE__PANEL;
    for (int p = 0; p < task->npairs; p++)
        looked += task->pair[p].A.rowptr ? task->pair[p].A.rowptr[task->m] - task->pair[p].A.rowptr[0] : task->m;
    if (plan->tuning.panels <= 0 && (plan->flops / MARKS < looked * plan->npanels || !fills_panels(plan, LEAST_FILL) ||
                                        plan->flops < REUSED * size_of(task).entries))
        return TULLE_OK;
    return make_all(plan, pool, &fit);
}
