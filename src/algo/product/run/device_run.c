/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through the memories of devices. Operands come by device_tiles.h. A dense result is summed on the device
 * over the jobs of its tile that follow each other, then comes to the host while the next one is made; there it is
 * added to what the host has (C = beta C + result), so that partial results of other PEs may arrive meanwhile. A sparse
 * result is made on the device and copied to where the host wants it.
 *
 * Memory of a device: the tiles of one summand, a result, the result before; operands that are used again while there
 * is room. Less is refused, with the bytes that would do.
 */
#include <inttypes.h>
#include <string.h>

#include "algo/product/run/device_tiles.h"
#include "algo/product/run/runner.h"
#include "base/error.h"
#include "base/memory.h"

enum { OF_A, OF_B, TEMPORARY = -1 };

/* A dense result on the device, or on its way from there. */
struct result {
    tulle__device_buffer *buffer; /* NULL: there is none */
    char *staging;                /* one of the device's two */
    tulle_type type;
    char *to;
    int64_t m, n, row, col; /* strides of `to` */
    double beta;
};

struct device {
    tulle__device *device;
    tulle__device_tiles *tiles;
    tulle__device_queue *work, *out;
    tulle__device_event *made;
    struct result current, before;
    char *staging[2]; /* host memory, where results arrive in turn */
    size_t staging_bytes[2];
    int turn;
};

struct device_run {
    tulle__runner runner;
    const tulle__context *context;
    int count, opened;
    struct device *device;
};

/* ---- dense results ---- */

/* C = beta C + the result that has come. */
static tulle_status add_result(const struct device_run *run, struct result *r)
{
    const tulle__kernels *kernels = run->context->kernels;
    int by_row = r->col == 1;
    if (r->beta != 1) {
        tulle_status status = kernels->scale(run->context->pool, r->type, by_row ? r->m : r->n, by_row ? r->n : r->m,
            by_row ? r->row : r->col, r->beta, r->to);
        if (status != TULLE_OK) return status;
    }
    kernels->add(r->type, r->m, r->n, r->staging, r->to, r->row, r->col);
    return TULLE_OK;
}

static void drop_result(struct device *d, struct result *r)
{
    tulle__device_tiles_give(d->tiles, r->buffer);
    *r = (struct result){.buffer = NULL};
}

/* The result before the current one is in host memory. */
static tulle_status land(const struct device_run *run, struct device *d)
{
    struct result *r = &d->before;
    if (!r->buffer) return TULLE_OK;
    tulle_status status = d->device->ops->queue_wait(d->out);
    if (status == TULLE_OK) status = add_result(run, r);
    drop_result(d, r);
    return status;
}

/* The current result leaves. */
static tulle_status leave(const struct device_run *run, struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    struct result *r = &d->current;
    if (!r->buffer) return TULLE_OK;
    tulle_status status = land(run, d);
    if (status != TULLE_OK) return status;
    size_t bytes = (size_t)(r->m * r->n) * tulle_type_size(r->type);
    ops->record(d->work, d->made);
    ops->join(d->out, d->made);
    ops->download(d->out, r->staging, &(tulle__device_place){r->buffer, 0}, bytes);
    d->before = *r;
    d->current = (struct result){.buffer = NULL};
    return TULLE_OK;
}

/* Room for tiles beside what is held; the result before this one gives its own back first. */
static tulle_status room(
    const struct device_run *run, struct device *d, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    tulle_status status = tulle__device_tiles_room(d->tiles, bytes, what, buffer);
    if (status != TULLE_ERR_LIMIT || !d->before.buffer) return status;
    status = land(run, d);
    return status == TULLE_OK ? tulle__device_tiles_room(d->tiles, bytes, what, buffer) : status;
}

static tulle_status hold(const struct device_run *run, struct device *d, const tulle__tile_key *key,
    const tulle_tile *source, tulle__device_tile *there)
{
    tulle_status status = tulle__device_tiles_hold(d->tiles, key, source, there);
    if (status != TULLE_ERR_LIMIT || !d->before.buffer) return status;
    status = land(run, d);
    return status == TULLE_OK ? tulle__device_tiles_hold(d->tiles, key, source, there) : status;
}

/* The one of the two where the result before does not arrive, with so much room. */
static tulle_status take_staging(struct device *d, size_t bytes, char **staging)
{
    const tulle__device_ops *ops = d->device->ops;
    int t = d->turn = !d->turn;
    if (d->staging_bytes[t] < bytes) {
        ops->host_free(d->device, d->staging[t]);
        d->staging[t] = NULL;
        d->staging_bytes[t] = 0;
        tulle_status status = ops->host_new(d->device, bytes, "results of a device", &d->staging[t]);
        if (status != TULLE_OK) return status;
        d->staging_bytes[t] = bytes;
    }
    *staging = d->staging[t];
    return TULLE_OK;
}

/* A result for the task; *added: the current one, which is of the same place and is added to. */
static tulle_status begin_result(
    const struct device_run *run, struct device *d, const tulle__chain_task *task, int *added)
{
    tulle_status status = TULLE_OK;
    struct result *r = &d->current;
    *added = r->buffer && r->to == task->C && r->m == task->m && r->n == task->n && task->beta == 1;
    if (*added) return TULLE_OK;
    TULLE_TRY(leave(run, d));
    struct result made = {.type = task->type,
        .to = task->C,
        .m = task->m,
        .n = task->n,
        .row = task->c_row,
        .col = task->c_col,
        .beta = task->beta};
    size_t bytes = (size_t)(task->m * task->n) * tulle_type_size(task->type);
    TULLE_TRY(room(run, d, bytes, "a tile of the result", &made.buffer));
    status = take_staging(d, bytes, &made.staging);
    if (status != TULLE_OK)
        drop_result(d, &made);
    else
        *r = made;
out:
    return status;
}

/* ---- chains ---- */

/* What three tiles take: a summand's two and the result. */
static tulle_status too_small(const struct device *d, const tulle__chain_task *task, int p)
{
    size_t a = tulle__device_tile_bytes(d->device, &task->A[p], task->row, task->m),
           b = tulle__device_tile_bytes(d->device, &task->B[p], 0, task->B[p].m),
           c = (size_t)(task->m * task->n) * tulle_type_size(task->type);
    return tulle__fail(TULLE_ERR_LIMIT,
        "the device '%s' has %zu bytes of memory; a product of two tiles takes %zu (A %zu, B %zu, C %zu): smaller "
        "tiles (--tiles) take less",
        d->device->name, d->device->capacity, a + b + c, a, b, c);
}

/* Copies operands of the next job while this one is multiplied, as far as there is room. */
static void copy_ahead(struct device_run *run, struct device *d)
{
    tulle__run_next *next = &run->runner.next;
    for (int p = 0; p < next->tiles.nk && &run->device[next->tiles.j % run->count] == d; p++) {
        const tulle__tile_key a = {OF_A, next->tiles.i, next->tiles.k[p], 0, next->A[p].m},
                              b = {OF_B, next->tiles.k[p], next->tiles.j, 0, next->B[p].m};
        if (tulle__device_tiles_prefetch(d->tiles, &a, &next->A[p]) != TULLE_OK ||
            tulle__device_tiles_prefetch(d->tiles, &b, &next->B[p]) != TULLE_OK)
            break;
    }
    next->tiles.nk = 0;
}

/* Also after a failure: the host's tiles are not read any more, and may be freed. */
static tulle_status operands_read(struct device *d, tulle_status status)
{
    tulle_status read = tulle__device_tiles_uploaded(d->tiles);
    return status != TULLE_OK ? status : read;
}

static void multiply_held(struct device_run *run, struct device *d, tulle__device_chain *chain, int started)
{
    const struct result *r = &d->current;
    chain->C = (tulle__device_place){r->buffer, 0};
    chain->beta = started ? 1 : 0;
    tulle__device_tiles_join(d->tiles, d->work);
    copy_ahead(run, d);
    d->device->ops->chain(d->work, chain);
    tulle__device_tiles_release(d->tiles, d->work);
    chain->npairs = 0;
}

static tulle_status chain(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__chain_task *task)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = &run->device[tiles->j % run->count];
    tulle_status status = TULLE_OK;
    if (!task->m || !task->n) return TULLE_OK;
    int added;
    TULLE_TRY(begin_result(run, d, task, &added));
    tulle__device_chain work = {
        .type = task->type, .m = task->m, .n = task->n, .c_row = task->n, .c_col = 1, .alpha = task->alpha};
    for (int p = 0; p < task->npairs; p++) {
        const tulle__tile_key a = {OF_A, tiles->i, tiles->k[p], task->row, task->m},
                              b = {OF_B, tiles->k[p], tiles->j, 0, task->B[p].m};
        for (;;) {
            int n = work.npairs;
            status = hold(run, d, &a, &task->A[p], &work.A[n]);
            if (status == TULLE_OK) status = hold(run, d, &b, &task->B[p], &work.B[n]);
            if (status == TULLE_OK) break;
            if (status != TULLE_ERR_LIMIT) goto out;
            if (n) {
                multiply_held(run, d, &work, added); /* those that fit, then this one by itself */
                added = 1;
            } else if (!tulle__device_tiles_tighten(d->tiles)) {
                status = too_small(d, task, p);
                goto out;
            }
        }
        if (++work.npairs == TULLE__DEVICE_PAIRS) {
            multiply_held(run, d, &work, added);
            added = 1;
        }
    }
    if (work.npairs) multiply_held(run, d, &work, added);
out:
    return operands_read(d, status);
}

/* ---- sparse products ---- */

/* A result while it is made. */
struct sparse {
    struct device_run *run;
    struct device *d;
    tulle__device_buffer *buffer;
    tulle__device_tile tile;
    tulle_type type;
};

static tulle_status place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct sparse *s = context;
    size_t colind, val, bytes = tulle__device_csr_offsets(s->d->device, m, nnz, s->type, &colind, &val);
    tulle__device_tiles_give(s->d->tiles, s->buffer);
    s->buffer = NULL;
    tulle_status status = room(s->run, s->d, bytes, "a sparse result", &s->buffer);
    if (status != TULLE_OK) return status;
    *C = (tulle__device_tile){.kind = TULLE_CSR,
        .type = s->type,
        .m = m,
        .nnz = nnz,
        .rowptr = {s->buffer, 0},
        .colind = {s->buffer, colind},
        .val = {s->buffer, val}};
    s->tile = *C;
    return TULLE_OK;
}

static tulle_status fetch_result(
    struct sparse *s, int64_t m, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    tulle_status status;
    const tulle__device_ops *ops = s->d->device->ops;
    int32_t *narrow = NULL;
    size_t nnz = (size_t)s->tile.nnz, rows = (size_t)m + 1;
    int is_narrow = s->d->device->rowptr_bytes == 4;
    TULLE_TRY(place(context, m, s->tile.nnz, C));
    if (is_narrow) TULLE_TRY(tulle__alloc(rows, sizeof *narrow, "row pointers of a device", &narrow));
    ops->record(s->d->work, s->d->made);
    ops->join(s->d->out, s->d->made);
    ops->download(
        s->d->out, is_narrow ? (void *)narrow : C->rowptr, &s->tile.rowptr, rows * (size_t)s->d->device->rowptr_bytes);
    if (nnz) ops->download(s->d->out, C->colind, &s->tile.colind, nnz * sizeof(tulle_lidx));
    if (nnz) ops->download(s->d->out, C->val, &s->tile.val, nnz * tulle_type_size(s->type));
    status = ops->queue_wait(s->d->work);
    tulle_status come = ops->queue_wait(s->d->out);
    if (status == TULLE_OK) status = come;
    for (size_t r = 0; is_narrow && status == TULLE_OK && r < rows; r++) C->rowptr[r] = narrow[r];
out:
    tulle__free(narrow);
    return status;
}

/* Rows of a factor of the task, or of the old C, on the device. */
static tulle_status hold_csr(
    struct sparse *s, int operand, int i, int j, int64_t row, const tulle__csr *csr, tulle__device_tile *there)
{
    const tulle__tile_key key = {operand, i, j, row, csr->m};
    tulle__csr whole = *csr;
    whole.rowptr -= row;
    whole.m += row;
    tulle_tile tile = tulle__csr_tile(&whole, s->type);
    return hold(s->run, s->d, &key, &tile, there);
}

static tulle_status product(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task,
    tulle__csr_place place, void *context, tulle__csr_result *C)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = &run->device[tiles->j % run->count];
    struct sparse s = {.run = run, .d = d, .type = task->type};
    tulle_status status = TULLE_OK;
    int64_t multiplications = 0;
    tulle__device_product work = {
        .type = task->type, .m = task->m, .n = task->n, .npairs = task->npairs, .unsorted = task->unsorted};
    if (task->npairs > TULLE__DEVICE_SPARSE_PAIRS)
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED, "a chain of %d products of tiles on a device, which takes %d",
            task->npairs, TULLE__DEVICE_SPARSE_PAIRS));
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        work.scale[p] = pair->scale;
        work.A[p] = (tulle__device_tile){.kind = TULLE_CSR, .type = task->type};
        int known = p < tiles->nk, k = known ? tiles->k[p] : 0;
        if (pair->A.rowptr) TULLE_TRY(hold_csr(&s, OF_A, tiles->i, k, tiles->row, &pair->A, &work.A[p]));
        TULLE_TRY(hold_csr(&s, known ? OF_B : TEMPORARY, k, tiles->j, 0, &pair->B, &work.B[p]));
    }
    tulle__device_tiles_join(d->tiles, d->work);
    TULLE_TRY(d->device->ops->product(d->work, &work, place_result, &s, &multiplications));
    tulle__device_tiles_release(d->tiles, d->work);
    TULLE_TRY(fetch_result(&s, task->m, place, context, C));
    C->multiplications = multiplications;
out:
    (void)d->device->ops->queue_wait(d->work);
    tulle__device_tiles_release(d->tiles, d->work);
    tulle__device_tiles_give(d->tiles, s.buffer);
    return operands_read(d, status);
}

/* ---- executions ---- */

static tulle_status finish(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    tulle_status first = TULLE_OK;
    for (int n = 0; n < run->count; n++) {
        struct device *d = &run->device[n];
        tulle_status status = leave(run, d);
        if (status == TULLE_OK) status = land(run, d);
        tulle_status worked = d->device->ops->queue_wait(d->work);
        if (status == TULLE_OK) status = worked;
        if (first == TULLE_OK) first = status;
    }
    return first;
}

static void end_device(struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    if (d->work) (void)ops->queue_wait(d->work);
    if (d->out) (void)ops->queue_wait(d->out);
    if (d->tiles) {
        drop_result(d, &d->current);
        drop_result(d, &d->before);
        tulle__device_tiles_release(d->tiles, d->work);
        tulle__device_tiles_clear(d->tiles);
    }
}

static void end(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    for (int n = 0; n < run->opened; n++) end_device(&run->device[n]);
}

static tulle_device_work work(const tulle__runner *runner)
{
    const struct device_run *run = (const struct device_run *)runner;
    tulle_device_work sum = {.devices = run->count};
    for (int n = 0; n < run->count; n++) {
        const tulle__device_counts *counts = &run->device[n].device->counting->counts;
        for (int c = 0; c < 2; c++) {
            sum.copies[c] += counts->copies[c];
            sum.bytes[c] += counts->bytes[c];
            sum.copy_seconds[c] += (double)counts->copy_ns[c] * 1e-9;
        }
        sum.kernels += counts->kernels;
        sum.kernel_seconds += (double)counts->kernel_ns * 1e-9;
        sum.hits += tulle__device_tiles_hits(run->device[n].tiles);
    }
    return sum;
}

static void free_run(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    for (int n = 0; n < run->opened; n++) {
        struct device *d = &run->device[n];
        end_device(d);
        for (int t = 0; t < 2; t++) d->device->ops->host_free(d->device, d->staging[t]);
        tulle__device_tiles_free(d->tiles);
        d->device->ops->event_free(d->device, d->made);
        if (d->work) d->device->ops->queue_free(d->device, d->work);
        if (d->out) d->device->ops->queue_free(d->device, d->out);
        tulle__device_close(d->device);
    }
    tulle__free(run->device);
    tulle__free(run);
}

static const tulle__runner_ops ops = {
    .chain = chain, .product = product, .finish = finish, .end = end, .work = work, .free = free_run};

/* number: of the device among those of all PEs of the host, which take the host's in turn; of: them. */
static tulle_status open_device(
    tulle_comm *comm, const struct device_run *run, const char *spec, bool sparse, int number, int of, struct device *d)
{
    tulle_status status;
    tulle__device_setting setting = {.threads = comm->pe->threads / run->count > 1 ? comm->pe->threads / run->count : 1,
        .overlap = 1,
        .rank = comm->rank,
        .number = run->opened,
        .near_rank = number,
        .near_size = of,
        .timeline = comm->pe->timeline};
    TULLE_TRY(tulle__device_open(spec, &setting, &d->device));
    if (!(sparse ? tulle__device_has_product(d->device) : tulle__device_has_chain(d->device)))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' multiplies no %s tiles", spec,
            sparse ? "pairs of sparse" : run->runner.format->name));
    TULLE_TRY(tulle__device_tiles_new(d->device, &d->tiles));
    TULLE_TRY(d->device->ops->queue_new(d->device, &d->work));
    TULLE_TRY(d->device->ops->queue_new(d->device, &d->out));
    TULLE_TRY(d->device->ops->event_new(d->device, &d->made));
out:
    return status;
}

tulle_status tulle__device_run_new(tulle_comm *comm, const tulle__context *context, const tulle__tile_format *format,
    bool sparse, const char *spec, int count, tulle__runner **out)
{
    struct device_run *run = NULL;
    tulle_status status;
    int near_rank = 0, near_size = 1;
    TULLE_TRY(tulle__wants_values(comm, "a product on a device"));
    if (format->in_blocks) return tulle__fail(TULLE_ERR_UNSUPPORTED, "a product of blocks on a device");
    if (tulle__is_virtual(comm))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a product on a device, whose time is real, in a simulation");
    TULLE_TRY(tulle__comm_neighbours(comm, &near_rank, &near_size));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *run, "a plan", &run));
    run->runner = (tulle__runner){.ops = &ops, .format = format, .ahead = !sparse};
    run->runner.most = sparse ? TULLE__DEVICE_SPARSE_PAIRS - 1 : TULLE__DEVICE_PAIRS; /* and the old C */
    run->context = context;
    run->count = count;
    TULLE_TRY(tulle__alloc_zero((size_t)count, sizeof *run->device, "devices", &run->device));
    for (; run->opened < count; run->opened++) {
        struct device *d = &run->device[run->opened];
        status = open_device(comm, run, spec, sparse, near_rank * count + run->opened, near_size * count, d);
        if (status != TULLE_OK && d->device) run->opened++; /* what it has is freed */
        if (status != TULLE_OK) goto out;
    }
    *out = &run->runner;
    return TULLE_OK;
out:
    if (run) free_run(&run->runner);
    return status;
}
