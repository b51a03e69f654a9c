/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of a sparse product before it starts: flops, chunks of rows, and whether B is worth reading as runs. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"

enum { FLOPS_ROWS = 2048, FLOPS_TOGETHER = 64, FLOPS_ENTRIES = 1024, RUN_SAMPLES = 1024, RUN_ROWS = 1024 };

static int64_t minimum(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t maximum(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* The multiplications of row i of C. */
static int64_t spgemm_row_flops(const tulle__spgemm_task *task, int64_t i)
{
    int64_t flops = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        int64_t begin = A->rowptr ? A->rowptr[i] : 0, end = A->rowptr ? A->rowptr[i + 1] : 1;
        for (int64_t a = begin; a < end; a++) {
            int64_t k = A->rowptr ? A->colind[a] : i;
            flops += B->rowptr[k + 1] - B->rowptr[k];
        }
    }
    return flops;
}

struct flops_job {
    const tulle__spgemm_task *task;
    int64_t *flops;
};

/*
 * Adds a pair's multiplications in rows begin .. end - 1, whose entries are FLOPS_ENTRIES at most, by sums over all of
 * them: the ends of short rows, which no processor predicts, cost nothing then.
 */
static void add_flops(const tulle__spgemm_pair *pair, int64_t begin, int64_t end, int64_t *flops)
{
    const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr, first = ap[begin];
    int64_t before[FLOPS_ENTRIES + 1], sum = 0;
    before[0] = 0;
    for (int64_t a = first; a < ap[end]; a++) {
        const int32_t k = pair->A.colind[a];
        before[a - first + 1] = sum += bp[k + 1] - bp[k];
    }
    for (int64_t i = begin; i < end; i++) flops[i] += before[ap[i + 1] - first] - before[ap[i] - first];
}

static void count_flops(void *arg, int64_t begin, int64_t end)
{
    struct flops_job *job = arg;
    const tulle__spgemm_task *task = job->task;
    for (int64_t i = begin, next; i < end; i = next) {
        int together = 1;
        next = minimum(i + FLOPS_TOGETHER, end);
        for (int p = 0; p < task->npairs; p++) {
            const int64_t *ap = task->pair[p].A.rowptr;
            together = together && ap && ap[next] - ap[i] <= FLOPS_ENTRIES;
        }
        for (int64_t r = i; r < next; r++) job->flops[r] = together ? 0 : spgemm_row_flops(task, r);
        for (int p = 0; together && p < task->npairs; p++) add_flops(&task->pair[p], i, next, job->flops);
    }
}

tulle_status tulle__spgemm_cpu_flops(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *flops)
{
    struct flops_job job = {.task = task, .flops = flops};
    tulle__pool_blocks(pool, task->m, FLOPS_ROWS, count_flops, &job);
    return TULLE_OK;
}

/* The multiplication that sample s is the row of; they are spread evenly over the product. */
static int64_t sampled_at(const tulle__spgemm_plan *plan, int s)
{
    if (s == TULLE__SAMPLES) return INT64_MAX;
    return (int64_t)(((double)s + 0.5) / TULLE__SAMPLES * (double)plan->flops);
}

/* Chunks of nearly equal weight, where a row also costs something for itself; of whole groups, where there are any. */
static tulle_status cut_chunks(tulle__spgemm_plan *plan, int nthreads, const int64_t *flops)
{
    enum { ROW = 8 };
    int64_t m = plan->task->m, target = plan->tuning.chunk, group = plan->groups ? TULLE__PANEL_ROWS : 1;
    if (!target) target = minimum(1 << 18, maximum(1 << 13, (plan->flops + ROW * m) / (32 * nthreads)));
    int64_t most = minimum(m, (plan->flops + ROW * m) / target * 2 + 2), before = 0, at = 0, weight = 0;
    int64_t wanted = sampled_at(plan, 0);
    int sample = 0;
    TULLE_CALL(tulle__alloc((size_t)most + 1, sizeof *plan->chunk_row, "chunks of rows", &plan->chunk_row));
    TULLE_CALL(tulle__alloc((size_t)most + 1, sizeof *plan->chunk_flops, "chunks of rows", &plan->chunk_flops));
    for (int64_t i = 0; i < m; i++) {
        int64_t own = flops[i] + ROW;
        if (i == 0 || (weight + own > target && i % group == 0)) {
            plan->chunk_row[at] = i;
            plan->chunk_flops[at++] = before;
            weight = 0;
        }
        weight += own;
        for (; wanted < before + flops[i]; wanted = sampled_at(plan, ++sample))
            plan->sample[sample] = (tulle__row_sample){.i = i, .flops = flops[i]};
        before += flops[i];
    }
    plan->chunk_row[at] = m;
    plan->chunk_flops[at] = before;
    plan->nchunks = at;
    return TULLE_OK;
}

/* The mean length of the runs that the columns of B's tiles come in, by a sample of rows, of few where work is little.
 */
static double run_length(const tulle__spgemm_plan *plan)
{
    enum { LEAST = 64, PART = 32 }; /* rows; to look at an entry of B takes what a multiplication does */
    const tulle__spgemm_task *task = plan->task;
    double entries = 0, runs = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *B = &task->pair[p].B;
        const int64_t rows = minimum(B->m, RUN_SAMPLES);
        int64_t seen = 0, starts = 0, s = 0;
        for (; s < rows && (s < LEAST || seen < plan->flops / PART); s++) {
            const int64_t k = tulle__spread(s, B->m), end = B->rowptr[k + 1];
            seen += end - B->rowptr[k];
            for (int64_t b = B->rowptr[k]; b < end; b++)
                starts += b == B->rowptr[k] || B->colind[b] != B->colind[b - 1] + 1;
        }
        entries += (double)seen * (double)B->m / (double)maximum(1, s);
        runs += (double)starts * (double)B->m / (double)maximum(1, s);
    }
    return runs > 0 ? entries / runs : INFINITY;
}

struct run_job {
    const tulle__csr *B;
    tulle__run_rows *rows;
};

/* The runs of a row, to the end of a list; how many. */
static int32_t split_row(const int32_t *col, int32_t len, tulle__run *run)
{
    int32_t count = 0;
    for (int32_t b = 0; b < len;) {
        int32_t first = b++;
        while (b < len && col[b] == col[b - 1] + 1) b++;
        run[count++] = (tulle__run){col[first], b - first};
    }
    return count;
}

/* Lists are dense inside blocks of rows, which begin where their entries do: one pass makes them. */
static void find_runs(void *arg, int64_t begin, int64_t end)
{
    struct run_job *job = arg;
    const tulle__csr *B = job->B;
    const int64_t *bp = B->rowptr;
    int64_t at = bp[begin] - bp[0];
    for (int64_t k = begin; k < end; k++) {
        const int32_t *col = B->colind + bp[k];
        int64_t len = bp[k + 1] - bp[k];
        tulle__run_list *list = &job->rows->row[k];
        if (k > begin && bp[k] - bp[k - 1] == len && !memcmp(col, col - len, (size_t)len * sizeof *col)) {
            *list = list[-1];
            continue;
        }
        *list = (tulle__run_list){.first = at, .count = split_row(col, (int32_t)len, job->rows->run + at)};
        at += list->count;
    }
}

static void drop_runs(tulle__spgemm_plan *plan)
{
    for (int p = 0; plan->runs && p < plan->task->npairs; p++) {
        tulle__free(plan->runs[p].row);
        tulle__free(plan->runs[p].run);
    }
    tulle__free(plan->runs);
    plan->runs = NULL;
}

static tulle_status make_runs(tulle__spgemm_plan *plan, tulle__pool *pool)
{
    const tulle__spgemm_task *task = plan->task;
    TULLE_CALL(tulle__alloc_zero((size_t)task->npairs, sizeof *plan->runs, "the runs of B", &plan->runs));
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *B = &task->pair[p].B;
        tulle__run_rows *rows = &plan->runs[p];
        TULLE_CALL(tulle__alloc((size_t)B->m, sizeof *rows->row, "the runs of B", &rows->row));
        TULLE_CALL(
            tulle__alloc((size_t)(B->rowptr[B->m] - B->rowptr[0]), sizeof *rows->run, "the runs of B", &rows->run));
        struct run_job job = {.B = B, .rows = rows};
        tulle__pool_blocks(pool, B->m, RUN_ROWS, find_runs, &job);
    }
    return TULLE_OK;
}

static const double MOSTLY = 0.75; /* of A's entries in stretches: the others are not worth runs */
static const double RUNS =
    2.5; /* mean length of runs; pairs (a network with two unknowns a bus) lose half of the time */

/* True if so many dense rows of sums a thread are a small part of the memory that is left: hash tables need less. */
static int fits(const tulle__spgemm_plan *plan, const tulle__pool *pool, int rows)
{
    enum { PART = 8 };
    size_t row = (size_t)plan->task->n * tulle_type_size(plan->task->type), threads = (size_t)tulle__pool_size(pool);
    return row * (size_t)rows * threads <= tulle__account_left(tulle__account_current()) / PART;
}

/* Ways to be faster, where tuning do not tell: panels, stretches, runs. Without memory for them there are others. */
static void choose_variants(tulle__spgemm_plan *plan, tulle__pool *pool, bool known)
{
    const tulle__spgemm_task *task = plan->task;
    const tulle__spgemm_tuning *tuning = &plan->tuning;
    const int automatic = tuning->accumulator == TULLE__ACCUMULATOR_AUTO && plan->dense;
    int64_t entries = 0;
    double part = 0;
    plan->run = run_length(plan);
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *B = &task->pair[p].B;
        entries += B->rowptr[B->m] - B->rowptr[0];
    }
    if (tuning->panels == 1 || (tuning->panels == 0 && tuning->runs <= 0 && tuning->offsets <= 0 && automatic &&
                                   task->m >= 4 * TULLE__PANEL_ROWS * tulle__pool_size(pool)))
        (void)tulle__spgemm_make_panels(plan, pool);
    if (plan->groups) return;
    if (tuning->offsets > 0 || (tuning->offsets == 0 && automatic && plan->flops >= 2 * entries))
        (void)tulle__spgemm_make_offsets(plan, pool, &part);
    int runs = tuning->runs == 0 && tuning->panels != 2 && plan->run >= RUNS && part <= MOSTLY && plan->dense &&
               fits(plan, pool, TULLE__RUN_ROWS) && tuning->accumulator <= TULLE__ACCUMULATOR_DENSE &&
               plan->flops >= 4 * entries;
    if ((runs || tuning->runs > 0) && make_runs(plan, pool) != TULLE_OK) drop_runs(plan);
    if (!plan->runs && !known &&
        (tuning->panels == 2 ||
            (tuning->panels == 0 && plan->dense && tuning->accumulator <= TULLE__ACCUMULATOR_DENSE)))
        (void)tulle__spgemm_make_sets(plan, pool);
}

/*
 * True if sums in an array as wide as C stay in cache from row to row: its misses in the first-level one, of 4096
 * lines, over consecutive rows from a few places, are fewer than half of the multiplications. Meshes and networks whose
 * neighbours have near numbers are so however large they are; random matrices are not.
 */
static int rows_stay_near(const tulle__spgemm_plan *plan)
{
    enum { PLACES = 16, PRODUCTS = 2048, LINES = 4096, LINE = 8 };
    const tulle__spgemm_task *task = plan->task;
    int32_t line[LINES];
    int64_t products = 0, misses = 0;
    for (int place = 0; place < PLACES; place++) {
        int64_t i = task->m / PLACES * place, most = products + PRODUCTS;
        for (int l = 0; l < LINES; l++) line[l] = -1;
        for (; i < task->m && products < most; i++)
            for (int p = 0; p < task->npairs; p++) {
                const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
                int64_t begin = A->rowptr ? A->rowptr[i] : 0, end = A->rowptr ? A->rowptr[i + 1] : 1;
                for (int64_t a = begin; a < end && products < most; a++) {
                    int64_t k = A->rowptr ? A->colind[a] : i;
                    for (int64_t b = B->rowptr[k]; b < B->rowptr[k + 1] && products < most; b++) {
                        int32_t at = B->colind[b] / LINE;
                        misses += line[at % LINES] != at;
                        line[at % LINES] = at;
                        products++;
                    }
                }
            }
    }
    return 2 * misses < products;
}

/* True if few rows of A have more than one entry: elsewhere whether one has is not predicted. */
static int takes_single_rows(const tulle__spgemm_task *task)
{
    const int64_t m = task->m, *ap = task->npairs == 1 && !task->select ? task->pair[0].A.rowptr : NULL;
    return ap && ap[m] - ap[0] <= m + m / 4;
}

tulle_status tulle__spgemm_plan_init(tulle__spgemm_plan *plan, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, bool known)
{
    tulle_status status;
    int64_t *flops = NULL, bytes = 0;
    int32_t n;
    int nthreads = tulle__pool_size(pool);
    *plan = (tulle__spgemm_plan){.task = task, .tuning = *tuning};
    TULLE_TRY(tulle__narrow(task->n, "the width of a tile of C", &n));
    TULLE_TRY(tulle__alloc((size_t)task->m, sizeof *flops, "the flops of rows", &flops));
    TULLE_TRY(tulle__spgemm_cpu_flops(pool, task, flops));
    for (int64_t i = 0; i < task->m; i++) plan->flops += flops[i];
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *B = &task->pair[p].B;
        bytes += (B->rowptr[B->m] - B->rowptr[0]) * (int64_t)(sizeof(int32_t) + tulle_type_size(task->type));
    }
    plan->prefetch = bytes > 1 << 20;
    plan->singly = takes_single_rows(task);
    plan->dense = (n <= maximum(1 << 20, plan->flops / (4 * nthreads)) && fits(plan, pool, 1)) ||
                  tuning->accumulator == TULLE__ACCUMULATOR_DENSE;
    int64_t sums = task->n * (int64_t)tulle_type_size(task->type);
    plan->near = plan->dense && (sums <= TULLE__NEAR_BYTES || rows_stay_near(plan));
    plan->near_values = plan->dense && (plan->near || sums <= 8 * TULLE__NEAR_BYTES);
    if (!task->select) choose_variants(plan, pool, known); /* selected rows are made one by one */
    TULLE_TRY(cut_chunks(plan, nthreads, flops));
out:
    tulle__free(flops);
    if (status != TULLE_OK) tulle__spgemm_plan_fini(plan);
    return status;
}

void tulle__spgemm_plan_fini(tulle__spgemm_plan *plan)
{
    tulle__free(plan->chunk_row);
    tulle__free(plan->chunk_flops);
    drop_runs(plan);
    tulle__spgemm_drop_offsets(plan);
    tulle__spgemm_drop_panels(plan);
    plan->chunk_row = plan->chunk_flops = NULL;
}
