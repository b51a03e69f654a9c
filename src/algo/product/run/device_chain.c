/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains into dense memory through a device. A result is summed on the device while jobs add to it,
 * then comes to the host while others are made; there it is added to what the host has
 * (C = beta C + result), so that partial results of other PEs may arrive meanwhile.
 *
 * Open results take at most half of the memory, or one result, so that a tile of C is written back
 * once where all of them fit, and operands stay beside them.
 *
 * Resident (runner->resident): all results stay open, also for executions that follow; the first job of one
 * that finds none brings what the host has, if beta is not 0.
 *
 * Room: tiles that are not held go first (device_tiles.h); then results that leave are awaited;
 * then the oldest open result leaves. What is left is one triple of tiles, so there is no deadlock.
 */
#include "algo/chain/block_order.h"
#include "algo/product/run/device_set.h"
#include "base/error.h"
#include "base/memory.h"
#include "tile/tile_blocks.h"

/* ---- results ---- */

static void drop_result(struct device *d, struct device_result *r)
{
    tulle__device_tiles_give(d->tiles, r->buffer);
    r->buffer = NULL;
}

/* A result that has come, and what it is added to. */
struct arrival {
    const tulle__kernels *kernels;
    const struct device_exit *exit;
};

static void add_rows(void *arg, int64_t begin, int64_t end)
{
    const struct arrival *arrival = arg;
    const struct device_result *r = &arrival->exit->result;
    const int64_t size = (int64_t)tulle_type_size(r->type), rows = end - begin;
    const int by_row = r->col == 1;
    char *to = r->to + begin * r->row * size;
    if (r->beta != 1) /* of one thread, which cannot fail */
        (void)arrival->kernels->scale(
            NULL, r->type, by_row ? rows : r->n, by_row ? r->n : rows, by_row ? r->row : r->col, r->beta, to);
    arrival->kernels->add(r->type, rows, r->n, arrival->exit->staging + begin * r->n * size, to, r->row, r->col);
}

/* C = beta C + the result that has come, in rows that stay in a cache between the two. */
static void add_result(const struct device_run *run, const struct device_exit *e)
{
    enum { BLOCK = 128 << 10 };
    const struct device_result *r = &e->result;
    struct arrival arrival = {run->context->kernels, e};
    const int64_t line = r->n * (int64_t)tulle_type_size(r->type);
    tulle__pool_blocks(run->context->pool, r->m, BLOCK / (line + 1) + 1, add_rows, &arrival);
    const double bytes = (double)(r->m * line);
    tulle__kernel_end(run->comm, &(tulle__work){.memory = (r->beta == 1 ? 3 : r->beta == 0 ? 4 : 5) * bytes});
}

/* The result that left first is in host memory. A failure of its copy is the queue's, which finish waits for. */
static void land(const struct device_run *run, struct device *d)
{
    struct device_exit *e = &d->exit[d->oldest];
    d->device->ops->event_wait(e->landed);
    add_result(run, e);
    drop_result(d, &e->result);
    d->oldest = (d->oldest + 1) % TULLE__LEAVING;
    d->nleaving--;
}

/* The n-th open result leaves. */
static tulle_status leave(const struct device_run *run, struct device *d, int n)
{
    const tulle__device_ops *ops = d->device->ops;
    if (d->nleaving == TULLE__LEAVING) land(run, d);
    struct device_exit *e = &d->exit[(d->oldest + d->nleaving) % TULLE__LEAVING];
    const struct device_result *r = &d->open[n];
    size_t bytes = (size_t)(r->m * r->n) * tulle_type_size(r->type);
    if (e->bytes < bytes) {
        ops->host_free(d->device, e->staging);
        e->staging = NULL;
        e->bytes = 0;
        TULLE_CALL(ops->host_new(d->device, bytes, "results of a device", &e->staging));
        e->bytes = bytes;
    }
    ops->record(d->work, d->made);
    ops->join(d->out, d->made);
    ops->download(d->out, e->staging, &(tulle__device_place){r->buffer, 0}, bytes);
    ops->record(d->out, e->landed);
    e->result = *r;
    d->nleaving++;
    d->open[n] = d->open[--d->nopen];
    d->open_bytes -= bytes;
    return TULLE_OK;
}

static int oldest_of(const struct device *d)
{
    int oldest = 0;
    for (int n = 1; n < d->nopen; n++)
        if (d->open[n].turn < d->open[oldest].turn) oldest = n;
    return oldest;
}

int tulle__device_make_room(const struct device_run *run, struct device *d, tulle_status *status)
{
    if (run->runner.resident || (!d->nleaving && d->nopen < 2)) return 0;
    if (!d->nleaving) *status = leave(run, d, oldest_of(d));
    if (*status == TULLE_OK) land(run, d);
    return *status == TULLE_OK;
}

tulle_status tulle__device_reserve(
    const struct device_run *run, struct device *d, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    for (;;) {
        bool some = false;
        tulle_status made = TULLE_OK, status = tulle__device_tiles_reserve(d->tiles, bytes, what, buffer);
        if (status != TULLE_ERR_LIMIT) return status;
        made = tulle__device_cached_drop(d, &some);
        if (made == TULLE_OK && some) continue;
        if (made != TULLE_OK || !tulle__device_make_room(run, d, &made)) return made != TULLE_OK ? made : status;
    }
}

static struct device_result *find_open(struct device *d, const tulle__chain_task *task)
{
    for (int n = 0; n < d->nopen; n++) {
        struct device_result *r = &d->open[n];
        if (r->to == (char *)task->C && r->m == task->m && r->n == task->n) return r;
    }
    return NULL;
}

/* Bytes of the buffer of a result: in blocks, each is as large as the largest, and serves any. */
static size_t capacity_of(const struct device_run *run, size_t bytes)
{
    const tulle__runner *runner = &run->runner;
    return runner->blocks && runner->tile[2] > bytes ? runner->tile[2] : bytes;
}

/* Resident: beta of the first product, for which what the host has comes to the device if nothing was there. */
static double begin_resident(struct device *d, const struct device_result *r, const tulle__chain_task *task)
{
    size_t line = (size_t)task->n * tulle_type_size(task->type);
    if (task->beta == 0) return 0;
    tulle__staging_copy_up(d->staging, d->work,
        &(tulle__device_copy){.to = {r->buffer, 0},
            .host = task->C,
            .lines = (size_t)task->m,
            .width = line,
            .to_pitch = line,
            .from_pitch = (size_t)task->c_row * tulle_type_size(task->type)});
    return task->beta;
}

void tulle__device_results_return(struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    ops->record(d->work, d->made);
    ops->join(d->out, d->made);
    for (int n = 0; n < d->nopen; n++) {
        const struct device_result *r = &d->open[n];
        size_t size = tulle_type_size(r->type), line = (size_t)r->n * size;
        tulle__staging_copy_down(d->staging, d->out,
            &(tulle__device_copy){.from = {r->buffer, 0},
                .host = r->to,
                .lines = (size_t)r->m,
                .width = line,
                .to_pitch = (size_t)r->row * size,
                .from_pitch = line});
    }
}

/*
 * The open result for the task, which is the newest then; *beta: what the first product multiplies it by, 1 if it has
 * a sum already.
 */
static tulle_status begin_result(const struct device_run *run, struct device *d, const tulle__chain_task *task,
    struct device_result **result, double *beta)
{
    tulle_status status = TULLE_OK;
    const bool resident = run->runner.resident;
    struct device_result *r = find_open(d, task);
    const int added = r && (resident || task->beta == 1);
    *beta = added ? task->beta : 0;
    *result = r;
    if (added) {
        r->turn = ++d->turn;
        return TULLE_OK;
    }
    if (r) TULLE_TRY(leave(run, d, (int)(r - d->open)));
    if (d->nopen == d->capacity) {
        int capacity = 2 * d->capacity + 4;
        TULLE_TRY(tulle__realloc((size_t)capacity, sizeof *d->open, "results on a device", &d->open));
        d->capacity = capacity;
    }
    struct device_result made = {.type = task->type,
        .to = task->C,
        .m = task->m,
        .n = task->n,
        .row = task->c_row,
        .col = task->c_col,
        .beta = task->beta,
        .turn = ++d->turn};
    size_t bytes = (size_t)(task->m * task->n) * tulle_type_size(task->type), capacity = capacity_of(run, bytes);
    while (!resident && d->nopen && d->open_bytes + bytes > d->results) TULLE_TRY(leave(run, d, oldest_of(d)));
    while (run->runner.blocks && d->nleaving && d->nopen + d->nleaving >= run->runner.blocks->results) land(run, d);
    for (;;) { /* as tulle__device_room, but no open result is one's own yet */
        status = tulle__device_tiles_reserve(d->tiles, capacity, "a tile of the result", &made.buffer);
        if (status != TULLE_ERR_LIMIT || resident || (!d->nleaving && !d->nopen)) break;
        if (!d->nleaving) TULLE_TRY(leave(run, d, oldest_of(d)));
        land(run, d);
    }
    if (status != TULLE_OK) return status;
    d->open_bytes += bytes;
    d->open[d->nopen] = made;
    *result = &d->open[d->nopen++];
    if (resident) *beta = begin_resident(d, *result, task);
out:
    return status;
}

tulle_status tulle__device_results_finish(const struct device_run *run, struct device *d)
{
    while (d->nopen) TULLE_CALL(leave(run, d, oldest_of(d)));
    while (d->nleaving) land(run, d);
    return TULLE_OK;
}

void tulle__device_results_drop(struct device *d)
{
    while (d->nopen) drop_result(d, &d->open[--d->nopen]);
    d->open_bytes = 0;
    for (; d->nleaving; d->nleaving--, d->oldest = (d->oldest + 1) % TULLE__LEAVING)
        drop_result(d, &d->exit[d->oldest].result);
}

/* ---- chains ---- */

/* The rows of factor p of the task; in blocks, the block rows that have some of them. */
static tulle__tile_key key_of_a(const tulle__run_tiles *tiles, const tulle__chain_task *task, int p)
{
    const tulle_tile *A = &task->A[p];
    int64_t row = task->row, rows = task->m;
    if (A->row_block) {
        row = tulle__blocks_row_of(A, task->row);
        rows = tulle__blocks_row_of(A, task->row + task->m - 1) - row + 1;
    }
    return (tulle__tile_key){TULLE__OF_A, tiles->i, tiles->k[p], row, rows};
}

/* Rows of the first block row before those of the task. */
static int64_t rows_before(const tulle__chain_task *task)
{
    const tulle_tile *A = &task->A[0];
    return A->row_block ? task->row - (A->row_block[tulle__blocks_row_of(A, task->row)] - A->row_block[0]) : 0;
}

/* Refuses less than three tiles: a summand's two and the result. */
static tulle_status too_small(
    const struct device *d, const tulle__run_tiles *tiles, const tulle__chain_task *task, int p)
{
    const tulle__tile_key key = key_of_a(tiles, task, p);
    size_t a = tulle__device_tile_bytes(d->device, &task->A[p], key.row, key.rows),
           b = tulle__device_tile_bytes(d->device, &task->B[p], 0, task->B[p].m),
           c = (size_t)(task->m * task->n) * tulle_type_size(task->type);
    return tulle__fail(TULLE_ERR_LIMIT,
        "the device '%s' has %zu bytes of memory; a product of two tiles takes %zu (A %zu, B %zu, C %zu): smaller "
        "tiles (--tiles) take less",
        d->device->name, d->device->capacity, a + b + c, a, b, c);
}

/* 0: a tile of the job has no room, or is not at hand. */
static int copy_job_ahead(const struct device *d, const tulle__run_next *next)
{
    for (int p = 0; p < next->tiles.nk; p++) {
        const int64_t rows = next->A[p].row_block ? next->A[p].block_rows : next->A[p].m;
        const tulle__tile_key a = {TULLE__OF_A, next->tiles.i, next->tiles.k[p], 0, rows},
                              b = {TULLE__OF_B, next->tiles.k[p], next->tiles.j, 0, next->B[p].m};
        if (!next->A[p].m || !next->B[p].n) return 1; /* nothing is multiplied */
        if (tulle__device_tiles_prefetch(d->tiles, &a, &next->A[p]) != TULLE_OK ||
            tulle__device_tiles_prefetch(d->tiles, &b, &next->B[p]) != TULLE_OK)
            return 0;
    }
    return 1;
}

/* Copies operands of the jobs after this one while it is multiplied, as far as each device has room. */
static void copy_ahead(struct device_run *run, int64_t number, int step)
{
    const tulle__runner *runner = &run->runner;
    tulle__run_next next;
    int stopped = 0, first = run->copied > number + 1 ? (int)(run->copied - number) : 1, n;
    for (n = 0; n < run->count; n++) run->device[n].stopped = false;
    for (n = first; n <= runner->ahead && stopped < run->count; n++) {
        if (!runner->peek || !runner->peek(runner->peeked, n, false, &next)) break;
        if (runner->blocks && next.tiles.step > step + runner->window) break;
        struct device *d = tulle__device_of(run, &next.tiles);
        if (d->stopped || d->ahead >= number + n) continue;
        if (!runner->peek(runner->peeked, n, true, &next)) break;
        d->stopped = !copy_job_ahead(d, &next);
        if (d->stopped && !stopped++) run->copied = number + n;
        if (!d->stopped) d->ahead = number + n;
    }
    if (!stopped) run->copied = number + n;
}

tulle_status tulle__device_operands_read(struct device *d, tulle_status status)
{
    tulle_status read = tulle__device_tiles_uploaded(d->tiles);
    return status != TULLE_OK ? status : read;
}

static void multiply_held(struct device_run *run, struct device *d, const struct device_result *r,
    tulle__device_chain *chain, double *beta, const tulle__run_tiles *tiles)
{
    chain->C = (tulle__device_place){r->buffer, 0};
    chain->beta = *beta;
    *beta = 1;
    tulle__device_tiles_join(d->tiles, d->work);
    copy_ahead(run, tiles->number, tiles->step);
    tulle__start_chain(d->device, d->work, chain);
    tulle__device_tiles_release(d->tiles, d->work);
    chain->npairs = 0;
}

static bool leaves(const struct device *d, const tulle__chain_task *task)
{
    for (int e = 0; e < d->nleaving; e++)
        if (d->exit[(d->oldest + e) % TULLE__LEAVING].result.to == (char *)task->C) return true;
    return false;
}

/* Jobs of a tile of C that go to devices in turn: what others have of it is on the host first, beta with it. */
static tulle_status collect(struct device_run *run, const struct device *mine, const tulle__chain_task *task)
{
    for (int n = 0; n < run->count; n++) {
        struct device *d = &run->device[n];
        const struct device_result *r = d == mine ? NULL : find_open(d, task);
        if (r) TULLE_CALL(leave(run, d, (int)(r - d->open)));
        while (leaves(d, task)) land(run, d);
    }
    return TULLE_OK;
}

/* Awaits the tiles of a job in blocks, unless they stay, and lets go of those that no other reads for now. */
static void end_tiles(
    const struct device_run *run, const struct device *d, const tulle__run_tiles *tiles, const tulle__chain_task *task)
{
    for (int p = 0; p < task->npairs; p++) {
        const tulle__tile_key a = key_of_a(tiles, task, p), b = {TULLE__OF_B, tiles->k[p], tiles->j, 0, task->B[p].m};
        if (!tiles->stays) {
            tulle__device_tiles_await(d->tiles, &a);
            tulle__device_tiles_await(d->tiles, &b);
        }
        for (int n = 0; n < run->count && tiles->done & TULLE__DONE_A; n++)
            tulle__device_tiles_done(run->device[n].tiles, &a);
        if (tiles->done & TULLE__DONE_B) tulle__device_tiles_done(d->tiles, &b);
    }
}

tulle_status tulle__device_run_chain(
    tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__chain_task *task)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = tulle__device_of(run, tiles);
    struct device_result *r;
    tulle_status status = TULLE_OK;
    double beta;
    if (!task->m || !task->n) return TULLE_OK;
    tulle__device_resident_begin(run);
    while (d->nleaving && d->device->ops->event_done(d->exit[d->oldest].landed)) land(run, d);
    if (runner->unpinned) TULLE_TRY(collect(run, d, task));
    TULLE_TRY(begin_result(run, d, task, &r, &beta));
    tulle__device_chain work = {.type = task->type,
        .row = rows_before(task),
        .m = task->m,
        .n = task->n,
        .c_row = task->n,
        .c_col = 1,
        .alpha = task->alpha};
    for (int p = 0; p < task->npairs; p++) {
        const tulle__tile_key a = key_of_a(tiles, task, p), b = {TULLE__OF_B, tiles->k[p], tiles->j, 0, task->B[p].m};
        for (;;) {
            int n = work.npairs;
            status = tulle__device_hold(run, d, &a, &task->A[p], &work.A[n]);
            if (status == TULLE_OK) status = tulle__device_hold(run, d, &b, &task->B[p], &work.B[n]);
            if (status == TULLE_OK) break;
            if (status != TULLE_ERR_LIMIT) goto out;
            r = find_open(d, task); /* others have left, and it may lie elsewhere */
            if (n) {
                multiply_held(run, d, r, &work, &beta, tiles); /* those that fit, then this one by itself */
            } else if (!tulle__device_tiles_tighten(d->tiles)) {
                status = too_small(d, tiles, task, p);
                goto out;
            }
        }
        r = find_open(d, task);
        if (++work.npairs == TULLE__DEVICE_PAIRS) multiply_held(run, d, r, &work, &beta, tiles);
    }
    if (work.npairs) multiply_held(run, d, r, &work, &beta, tiles);
    if (runner->blocks) end_tiles(run, d, tiles, task);
    if (tiles->last && !runner->resident) status = leave(run, d, (int)(find_open(d, task) - d->open));
out:
    if (status == TULLE_OK && (tiles->stays || runner->blocks)) return status;
    return tulle__device_operands_read(d, status);
}
