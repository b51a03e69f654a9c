/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sparse product C = sum_p scale_p A_p B_p by rows (Gustavson), in chunks of rows that threads take in turn.
 *
 * Costs, per product (one multiplication) unless said otherwise, with v bytes a value and cf = flops / nnz(C):
 *   read    (4 + v) bytes of B from wherever the row lies: rows arrive by random access, so a row of 8 costs four or
 *           five cache lines if B is outside the cache; hidden by prefetching some entries of A ahead
 *   sum     dense: one random access to n v bytes a thread, ~2 ns beyond L2; ordered table: L1, ~3 ns; runs: a vector
 *           operation for up to 32 bytes of them, ~0.2 ns
 *   write   (4 + v) / cf bytes of C; a write to memory is also a read of it
 * Where C may be trimmed (spgemm_once.c) its rows are computed once, in a thread's cache, and copied to a place with
 * room for what a sample of rows expects and a third more; then 4 / cf bytes, the columns, move up to the values. Else
 * one pass writes C twice and reads it once, (12 .. 36) / cf bytes more, in places that flops bound, of which huge
 * pages make nearly all resident; two passes read B's columns twice and mark them twice. So two passes pay where B
 * comes in runs or as sets of bits (marks are cheap) and where cf is over 3.5: one pass took 0.6 of the time of two at
 * cf = 2.6 (a mesh), 0.8 at 1.9 and 3.3 (a social and a web graph), 1.06 at 4.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"
#include "kernel/row_selection.h"

static const tulle__spgemm_rows *rows_of(tulle__isa isa, tulle_type type)
{
#define ENTRY(isa, index) [index] = tulle__spgemm_##isa,
    static const tulle__spgemm_rows *const rows[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(ENTRY)};
#undef ENTRY
    return &rows[isa][type];
}

/* One parallel phase over the chunks. */
struct job {
    tulle__pool *pool;
    const tulle__spgemm_plan *plan;
    const tulle__spgemm_rows *rows;
    size_t size;            /* of a value */
    int32_t *count;         /* entries of each row of C */
    int64_t *chunk_nnz;     /* entries before the chunk, once counted */
    tulle__run **structure; /* of each chunk's rows, or NULL: kept from counting, since the runs are few */
    int32_t *colind;        /* where a first pass puts C, chunk by chunk */
    char *val;
    tulle__made_chunk *selected; /* what is selected of each chunk, or NULL: all */
    tulle__csr_result C;
    atomic_int_fast64_t next;
    atomic_int failed;
    tulle_status (*chunk)(struct job *job, int64_t c, tulle__spgemm_workspace *space); /* of the phase */
};

/* Chunks begin 16 entries apart there, since vectors may write a little beyond the last row. */
static int64_t first_place(const tulle__spgemm_plan *plan, int64_t chunk)
{
    return plan->chunk_flops[chunk] + TULLE__PAD * chunk;
}

static int64_t next_chunk(struct job *job)
{
    if (atomic_load_explicit(&job->failed, memory_order_relaxed)) return job->plan->nchunks;
    return tulle__pool_take(job->pool, &job->next, job->plan->nchunks);
}

static tulle_status fail(struct job *job, tulle_status status)
{
    if (status != TULLE_OK) atomic_store_explicit(&job->failed, 1, memory_order_relaxed);
    return status;
}

static void sum_chunk(struct job *job, int64_t chunk)
{
    int64_t nnz = 0;
    for (int64_t i = job->plan->chunk_row[chunk]; i < job->plan->chunk_row[chunk + 1]; i++) nnz += job->count[i];
    job->chunk_nnz[chunk] = nnz;
}

/* Without memory for it the structure is made again. */
static void keep_structure(struct job *job, int64_t chunk, const tulle__spgemm_workspace *space)
{
    size_t count = (size_t)space->run_used;
    if (tulle__alloc(count, sizeof *space->run, "the runs of rows of C", &job->structure[chunk]) == TULLE_OK) {
        if (count) memcpy(job->structure[chunk], space->run, count * sizeof *space->run);
    } else {
        job->structure[chunk] = NULL;
    }
}

/* A phase: `chunk` is called for one chunk after the other, with the space of a thread. */
static tulle_status each_chunk(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    tulle__spgemm_workspace space;
    tulle_status status = TULLE_OK;
    (void)thread;
    (void)nthreads;
    tulle__spgemm_workspace_init(&space, job->plan);
    for (int64_t c; (c = next_chunk(job)) < job->plan->nchunks;) TULLE_TRY(job->chunk(job, c, &space));
out:
    tulle__spgemm_workspace_fini(&space);
    return fail(job, status);
}

static tulle_status count_chunk(struct job *job, int64_t c, tulle__spgemm_workspace *space)
{
    space->run_used = 0;
    space->keep = job->structure != NULL;
    TULLE_CALL(job->rows->count(space, job->plan->chunk_row[c], job->plan->chunk_row[c + 1], job->count));
    sum_chunk(job, c);
    if (space->keep) keep_structure(job, c, space);
    return TULLE_OK;
}

/* One pass: the rows of a chunk lie together, at a place its flops bound. */
static tulle_status compute_chunk(struct job *job, int64_t c, tulle__spgemm_workspace *space)
{
    const int64_t place = first_place(job->plan, c), capacity = first_place(job->plan, c + 1) - place;
    TULLE_CALL(job->rows->write(space, job->plan->chunk_row[c], job->plan->chunk_row[c + 1], job->count,
        job->colind + place, job->val + (size_t)place * job->size, capacity));
    sum_chunk(job, c);
    return TULLE_OK;
}

static void fill_rowptr(struct job *job, int64_t chunk)
{
    int64_t at = job->chunk_nnz[chunk];
    for (int64_t i = job->plan->chunk_row[chunk]; i < job->plan->chunk_row[chunk + 1]; i++) {
        at += job->count[i];
        job->C.rowptr[i + 1] = at;
    }
}

/* Keeps the selected entries of a chunk, in memory of their size. */
static tulle_status select_chunk(struct job *job, int64_t c, tulle__spgemm_workspace *space)
{
    tulle__made_chunk *made = &space->made, *kept = &job->selected[c];
    TULLE_CALL(tulle__spgemm_make_chunk(space, job->rows, c, job->count, made));
    const size_t nnz = (size_t)(kept->nnz = job->chunk_nnz[c] = made->nnz);
    TULLE_CALL(tulle__alloc(nnz, sizeof *kept->colind, "the selected columns of a chunk of C", &kept->colind));
    TULLE_CALL(tulle__alloc(nnz, job->size, "the selected values of a chunk of C", &kept->val));
    if (nnz) memcpy(kept->colind, made->colind, nnz * sizeof *kept->colind);
    if (nnz) memcpy(kept->val, made->val, nnz * job->size);
    return TULLE_OK;
}

static tulle_status copy_chunks(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)thread;
    (void)nthreads;
    for (int64_t c; (c = next_chunk(job)) < job->plan->nchunks;) {
        const size_t to = (size_t)job->chunk_nnz[c], count = (size_t)job->chunk_nnz[c + 1] - to;
        const size_t from = job->selected ? 0 : (size_t)first_place(job->plan, c);
        const int32_t *colind = job->selected ? job->selected[c].colind : job->colind + from;
        const char *val = job->selected ? job->selected[c].val : job->val + from * job->size;
        fill_rowptr(job, c);
        if (!count) continue;
        memcpy(job->C.colind + to, colind, count * sizeof *colind);
        memcpy((char *)job->C.val + to * job->size, val, count * job->size);
    }
    return TULLE_OK;
}

/* The second of two passes. */
static tulle_status write_chunk(struct job *job, int64_t c, tulle__spgemm_workspace *space)
{
    const int64_t to = job->chunk_nnz[c];
    fill_rowptr(job, c);
    space->stored = job->structure ? job->structure[c] : NULL;
    return job->rows->write(space, job->plan->chunk_row[c], job->plan->chunk_row[c + 1], job->count, job->C.colind + to,
        (char *)job->C.val + (size_t)to * job->size, job->chunk_nnz[c + 1] - to);
}

static tulle_status value_chunk(struct job *job, int64_t c, tulle__spgemm_workspace *space)
{
    return job->rows->values(space, job->plan->chunk_row[c], job->plan->chunk_row[c + 1], &job->C);
}

static tulle_status run(tulle__pool *pool, struct job *job, tulle__pool_body body)
{
    job->pool = pool;
    atomic_store_explicit(&job->next, 0, memory_order_relaxed);
    return tulle__pool_run(pool, body, job);
}

/* A phase that makes rows. */
static tulle_status run_rows(tulle__pool *pool, struct job *job,
    tulle_status (*chunk)(struct job *job, int64_t c, tulle__spgemm_workspace *space))
{
    job->chunk = chunk;
    return run(pool, job, each_chunk);
}

/* Entries of chunks into entries before chunks; returns the sum. */
static int64_t scan_chunks(struct job *job)
{
    int64_t at = 0;
    for (int64_t c = 0; c < job->plan->nchunks; c++) {
        int64_t nnz = job->chunk_nnz[c];
        job->chunk_nnz[c] = at;
        at += nnz;
    }
    return job->chunk_nnz[job->plan->nchunks] = at;
}

static tulle_status job_init(struct job *job, const tulle__spgemm_plan *plan, tulle__isa isa)
{
    *job =
        (struct job){.plan = plan, .rows = rows_of(isa, plan->task->type), .size = tulle_type_size(plan->task->type)};
    TULLE_CALL(tulle__alloc((size_t)plan->task->m, sizeof *job->count, "the entries of the rows of C", &job->count));
    return tulle__alloc((size_t)plan->nchunks + 1, sizeof *job->chunk_nnz, "chunks of rows", &job->chunk_nnz);
}

static void job_fini(struct job *job)
{
    tulle__free(job->count);
    tulle__free(job->chunk_nnz);
    for (int64_t c = 0; job->structure && c < job->plan->nchunks; c++) tulle__free(job->structure[c]);
    tulle__free(job->structure);
    for (int64_t c = 0; job->selected && c < job->plan->nchunks; c++) tulle__spgemm_drop_chunk(&job->selected[c]);
    tulle__free(job->selected);
    tulle__free(job->colind);
    tulle__free(job->val);
}

/*
 * nnz(C) / flops, by rows that multiplications spread evenly over the product belong to: heavy ones are likelier. A row
 * with more than 1 / HEAVY of all multiplications is bounded instead of counted, which would take as long as the
 * product.
 */
static tulle_status estimate_fill(struct job *job, double *fill)
{
    enum { LEAST = 8, STRIDE = 27, HEAVY = 128 }; /* STRIDE: samples that are left out are spread, too */
    const tulle__spgemm_plan *plan = job->plan;
    tulle__spgemm_workspace space;
    double sum = 0;
    int64_t seen = 0, n = 0;
    tulle_status status = TULLE_OK;
    *fill = 0;
    if (!plan->flops) return TULLE_OK;
    tulle__spgemm_workspace_init(&space, plan);
    for (; n < TULLE__SAMPLES && (n < LEAST || seen < plan->flops / 100); n++) {
        const tulle__row_sample row = plan->sample[n * STRIDE % TULLE__SAMPLES];
        if (row.flops > plan->flops / HEAVY) {
            sum += fmin(1, (double)plan->task->n / (double)row.flops);
            continue;
        }
        TULLE_TRY(job->rows->count(&space, row.i, row.i + 1, job->count));
        sum += (double)job->count[row.i] / (double)row.flops;
        seen += row.flops;
    }
    *fill = sum / (double)n;
out:
    tulle__spgemm_workspace_fini(&space);
    return status;
}

static const size_t NEVER_SCARCE = 1 << 20; /* bytes */
static const double FILL_ONE_PASS = 0.28;   /* 1 / cf, see above */

static tulle_status fill_chunks(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)thread;
    (void)nthreads;
    for (int64_t c; (c = next_chunk(job)) < job->plan->nchunks;) fill_rowptr(job, c);
    return TULLE_OK;
}

static const double MARGIN = 1.3;        /* of the estimate, which a few rows make */
static const double FILL_ONCE = 1. / 16; /* of runs, below which counting is little and better done by itself */

/* Computes into a place with more room than C is expected to need. *done = 0: there was not enough, here or there. */
static tulle_status make_once(struct job *job, tulle__pool *pool, tulle__csr_place place, void *context, int *done)
{
    const tulle__spgemm_plan *plan = job->plan;
    tulle_status status;
    double fill;
    TULLE_CALL(estimate_fill(job, &fill));
    if (plan->runs && fill < FILL_ONCE) return TULLE_OK;
    int64_t capacity = tulle__spgemm_bound(plan), expected = (int64_t)(MARGIN * fill * (double)plan->flops) + 4096;
    if (expected < capacity) capacity = expected;
    status = place(context, plan->task->m, capacity, &job->C);
    if (status == TULLE_ERR_LIMIT) return TULLE_OK; /* two passes need less */
    if (status != TULLE_OK) return status;
    TULLE_CALL(tulle__spgemm_once(plan, job->rows, pool, capacity, job->count, job->chunk_nnz, &job->C, done));
    if (!*done) return TULLE_OK;
    int64_t nnz = job->chunk_nnz[plan->nchunks];
    TULLE_CALL(plan->task->trim(context, plan->task->m, nnz, &job->C));
    job->C.nnz = nnz;
    job->C.rowptr[0] = 0;
    return run(pool, job, fill_chunks);
}

/* True to compute first and copy then; gets the room for that. */
static tulle_status choose_one_pass(struct job *job, int *one_pass)
{
    const tulle__spgemm_plan *plan = job->plan;
    tulle_status status = TULLE_OK;
    double fill = 0;
    size_t entries = (size_t)first_place(plan, plan->nchunks);
    *one_pass = plan->tuning.passes == 1;
    if (plan->tuning.passes == 0 && !plan->runs && !plan->panels) {
        TULLE_TRY(estimate_fill(job, &fill));
        /* beside the room of the pass, C itself must fit */
        const size_t bytes = entries * (sizeof(int32_t) + job->size); /* asking the system takes as long as few rows */
        *one_pass = fill > FILL_ONE_PASS && (bytes < NEVER_SCARCE || bytes < tulle__memory_left() / 3);
    }
    if (*one_pass) {
        status = tulle__alloc(entries, sizeof *job->colind, "the columns of C before they are placed", &job->colind);
        if (status == TULLE_OK)
            status = tulle__alloc(entries, job->size, "the values of C before they are placed", &job->val);
        if (status != TULLE_OK && plan->tuning.passes == 0) { /* two passes need less */
            tulle__free(job->colind);
            job->colind = NULL;
            *one_pass = 0;
            status = TULLE_OK;
        }
    }
out:
    return status;
}

/* Places C when its entries are counted, or selected. */
static tulle_status make_counted(struct job *job, tulle__pool *pool, tulle__csr_place place, void *context)
{
    const tulle__spgemm_plan *plan = job->plan;
    const int selects = plan->task->select != NULL;
    int one_pass = 0;
    if (selects)
        TULLE_CALL(tulle__alloc_zero((size_t)plan->nchunks, sizeof *job->selected, "chunks of rows", &job->selected));
    else
        TULLE_CALL(choose_one_pass(job, &one_pass));
    if (plan->runs && !one_pass && !selects)
        TULLE_CALL(tulle__alloc_zero((size_t)plan->nchunks, sizeof *job->structure, "chunks of rows", &job->structure));
    TULLE_CALL(run_rows(pool, job, selects ? select_chunk : one_pass ? compute_chunk : count_chunk));
    int64_t nnz = scan_chunks(job);
    TULLE_CALL(place(context, plan->task->m, nnz, &job->C));
    job->C.nnz = nnz;
    job->C.rowptr[0] = 0;
    return selects || one_pass ? run(pool, job, copy_chunks) : run_rows(pool, job, write_chunk);
}

tulle_status tulle__spgemm_cpu(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    enum { FEW = 256 }; /* entries of a row, which are sorted for less than it takes to scan for all */
    tulle__spgemm_plan plan;
    tulle__spgemm_task own = *task;
    struct job job = {0};
    int done = 0;
    if (task->select) own.unsorted = task->select->top <= FEW;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__spgemm_plan_init(&plan, tuning, pool, &own, false));
    TULLE_TRY(job_init(&job, &plan, isa));
    if (task->trim && !task->select && tuning->passes == 0) TULLE_TRY(make_once(&job, pool, place, context, &done));
    if (!done) TULLE_TRY(make_counted(&job, pool, place, context));
    job.C.multiplications = plan.flops;
    *C = job.C;
out:
    job_fini(&job);
    tulle__spgemm_plan_fini(&plan);
    return status;
}

tulle_status tulle__spgemm_cpu_symbolic(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, int64_t *rowptr)
{
    tulle__spgemm_plan plan;
    struct job job = {0};
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__spgemm_plan_init(&plan, tuning, pool, task, false));
    TULLE_TRY(job_init(&job, &plan, isa));
    TULLE_TRY(run_rows(pool, &job, count_chunk));
    rowptr[0] = 0;
    for (int64_t i = 0; i < task->m; i++) rowptr[i + 1] = rowptr[i] + job.count[i];
out:
    job_fini(&job);
    tulle__spgemm_plan_fini(&plan);
    return status;
}

tulle_status tulle__spgemm_cpu_numeric(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    tulle__spgemm_plan plan;
    TULLE_CALL(tulle__spgemm_plan_init(&plan, tuning, pool, task, true));
    struct job job = {.plan = &plan, .rows = rows_of(isa, task->type), .size = tulle_type_size(task->type), .C = *C};
    tulle_status status = run_rows(pool, &job, value_chunk);
    tulle__spgemm_plan_fini(&plan);
    return status;
}
