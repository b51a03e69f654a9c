/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through the memories of devices: opens them, begins and ends executions. Operands come by
 * device_tiles.h; results are made and leave by device_chain.c and device_product.c.
 *
 * Memory of a device: the tiles of one summand and a result; results that are open or leave, and
 * operands that are used again, while there is room. Less is refused, with the bytes that would do.
 */
#include "algo/product/run/device_set.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/pe_device.h"

struct device *tulle__device_of(const struct device_run *run, const tulle__run_tiles *tiles)
{
    const tulle__runner *runner = &run->runner;
    int64_t number = runner->unpinned ? tiles->number : runner->column[tiles->j];
    return &run->device[number % run->count];
}

/* Room that C does not take is for tiles of A and B. */
static void block(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    const tulle_gemm_blocks *s = runner->blocks;
    for (int n = 0; n < run->count; n++) {
        struct device *d = &run->device[n];
        d->results = (size_t)s->results * runner->tile[2];
        tulle__device_tiles_bound(d->tiles, d->device->capacity - d->results, runner->tile);
    }
}

/* ---- executions ---- */

/* The first failure of all queues; each returns its own once. */
static tulle_status wait_queues(struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    tulle_status in = tulle__device_tiles_uploaded(d->tiles), work = TULLE_OK, out = TULLE_OK;
    if (in == TULLE_OK) work = ops->queue_wait(d->work);
    if (in == TULLE_OK && work == TULLE_OK) out = ops->queue_wait(d->out);
    return in != TULLE_OK ? in : work != TULLE_OK ? work : out;
}

static tulle_status finish(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    for (int n = 0; n < run->count; n++) {
        struct device *d = &run->device[n];
        tulle_status status = runner->resident ? TULLE_OK : tulle__device_results_finish(run, d);
        if (status == TULLE_OK) status = wait_queues(d);
        if (status != TULLE_OK) return status;
    }
    run->finished = true;
    return TULLE_OK;
}

static void end_device(struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    if (d->work) (void)ops->queue_wait(d->work);
    if (d->out) (void)ops->queue_wait(d->out);
    if (d->tiles) {
        tulle__device_results_drop(d);
        tulle__device_tiles_release(d->tiles, d->work);
    }
    d->ahead = -1;
}

/* Tiles are copied between devices, so that all of them are idle before one forgets its own. */
static void clear_devices(struct device_run *run)
{
    run->copied = 0;
    for (int n = 0; n < run->opened; n++) end_device(&run->device[n]);
    for (int n = 0; n < run->opened; n++)
        if (run->device[n].tiles) tulle__device_tiles_clear(run->device[n].tiles);
}

static void end(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    const bool keeps = runner->resident && run->finished;
    run->finished = false;
    run->copied = 0;
    for (int n = 0; runner->resident && !keeps && n < run->count; n++) /* values that no execution reads */
        if (run->device[n].tiles) tulle__device_cached_forget(&run->device[n]);
    for (int n = 0; keeps && n < run->count; n++) {
        tulle__device_tiles_release(run->device[n].tiles, run->device[n].work);
        run->device[n].ahead = -1;
        tulle__device_tiles_return(run->device[n].tiles);
    }
    if (!keeps) clear_devices(run);
    tulle__receive_buffers_trim(run->receiver);
    for (int n = 0; n < run->count; n++) tulle__staging_rest(run->device[n].staging);
}

static tulle_status sync_resident(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    tulle_status status = TULLE_OK;
    for (int n = 0; n < run->count && status == TULLE_OK; n++) {
        struct device *d = &run->device[n];
        tulle__device_results_return(d);
        status = wait_queues(d);
        if (status == TULLE_OK) status = tulle__device_cached_bring(d);
    }
    clear_devices(run);
    return status;
}

void tulle__device_resident_begin(struct device_run *run)
{
    if (run->runner.new_structure)
        for (int n = 0; n < run->count; n++) tulle__device_cached_forget(&run->device[n]);
    run->runner.new_structure = false;
    if (!run->runner.resident || !run->runner.stale) return;
    run->runner.stale = false; /* parts of tiles may be others now; results stay, as tiles of C are the same */
    for (int n = 0; n < run->count; n++) tulle__device_tiles_clear(run->device[n].tiles);
}

static tulle_device_work work(const tulle__runner *runner)
{
    const struct device_run *run = (const struct device_run *)runner;
    tulle_device_work sum = {.devices = run->count};
    for (int n = 0; n < run->count; n++) {
        const tulle__device_counts *counts = &run->device[n].device->counting->counts;
        static const enum tulle__copy_kind kinds[] = {TULLE__COPY_UP, TULLE__COPY_DOWN, TULLE__COPY_PEER};
        for (int c = 0; c < 3; c++) {
            sum.copies[c] += counts->copies[kinds[c]];
            sum.bytes[c] += counts->bytes[kinds[c]];
            sum.copy_seconds[c] += (double)counts->copy_ns[kinds[c]] * 1e-9;
        }
        sum.kernels += counts->kernels;
        sum.kernel_seconds += (double)counts->kernel_ns * 1e-9;
        sum.hits += tulle__device_tiles_hits(run->device[n].tiles);
        sum.refused |= counts->refused;
    }
    return sum;
}

static void free_device(struct device *d)
{
    const tulle__device_ops *ops = d->device->ops;
    for (int e = 0; e < TULLE__LEAVING; e++) {
        ops->host_free(d->device, d->exit[e].staging);
        ops->event_free(d->device, d->exit[e].landed);
    }
    if (d->tiles) tulle__device_cached_forget(d);
    tulle__free(d->cached);
    tulle__device_tiles_free(d->tiles);
    tulle__staging_free(d->staging);
    ops->event_free(d->device, d->made);
    if (d->work) ops->queue_free(d->device, d->work);
    if (d->out) ops->queue_free(d->device, d->out);
    tulle__device_close(d->device);
    tulle__free(d->open);
}

static void free_run(tulle__runner *runner)
{
    struct device_run *run = (struct device_run *)runner;
    clear_devices(run);
    tulle__receive_buffers_free(run->receiver);
    for (int n = 0; n < run->opened; n++) free_device(&run->device[n]);
    tulle__free(run->device);
    tulle__free(run->tiles);
    tulle__free(run);
}

static const tulle__runner_ops ops = {.chain = tulle__device_run_chain,
    .product = tulle__device_run_product,
    .values = tulle__device_run_values,
    .block = block,
    .finish = finish,
    .end = end,
    .sync = sync_resident,
    .resident = tulle__device_run_resident,
    .reaches = tulle__device_run_reaches,
    .work = work,
    .free = free_run};

/* ---- virtual time ---- */

static int64_t virtual_now(void *arg)
{
    return tulle__now(arg);
}

static void virtual_until(void *arg, int64_t then)
{
    tulle__pass_until(arg, then);
}

static bool takes_virtual_time(const tulle__device *device)
{
    for (; device; device = device->inner)
        if (device->virtual_time) return true;
    return false;
}

static bool goes_by_times(const tulle__device *device)
{
    for (; device; device = device->inner)
        if (device->by_times) return true;
    return false;
}

/*
 * number: of the device among those of all PEs of the host, which take the host's in turn; of: them; processes: of
 * these PEs.
 */
static tulle_status open_device(tulle_comm *comm, struct device_run *run, const char *spec, bool sparse, int number,
    int of, int processes, struct device *d)
{
    const tulle__device_clock clock = {
        .now = virtual_now, .until = virtual_until, .arg = comm, .shapes = tulle__is_shape_only(comm)};
    tulle__device_setting setting = {.threads = comm->pe->threads / run->count > 1 ? comm->pe->threads / run->count : 1,
        .overlap = 1,
        .rank = comm->rank,
        .number = run->opened,
        .near_rank = number,
        .near_size = of,
        .near_processes = processes,
        .timeline = comm->pe->timeline,
        .clock = tulle__is_virtual(comm) ? &clock : NULL};
    TULLE_CALL(tulle__pe_device_open(comm->pe, spec, &setting, &d->device));
    if (setting.clock && !takes_virtual_time(d->device))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "the device '%s' takes real time, but the engine's time is virtual: 'model:...' takes that", spec);
    if (!(sparse ? tulle__device_has_product(d->device) : tulle__device_has(d->device, TULLE__DEVICE_CHAIN)))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' multiplies no %s tiles", spec,
            sparse ? "pairs of sparse" : run->runner.format->name);
    if (!run->opened && d->device->pinned)
        TULLE_CALL(tulle__receive_buffers_new(comm, d->device, run->count == 1, &run->receiver));
    TULLE_CALL(tulle__staging_new(d->device, run->context->pool, run->receiver, &d->staging));
    TULLE_CALL(tulle__device_tiles_new(d->device, d->staging, &d->tiles));
    TULLE_CALL(d->device->ops->queue_new(d->device, &d->work));
    TULLE_CALL(d->device->ops->queue_new(d->device, &d->out));
    TULLE_CALL(d->device->ops->event_new(d->device, &d->made));
    for (int e = 0; e < TULLE__LEAVING; e++) TULLE_CALL(d->device->ops->event_new(d->device, &d->exit[e].landed));
    d->ahead = -1;
    return TULLE_OK;
}

tulle_status tulle__device_run_new(tulle_comm *comm, const tulle__context *context, const tulle__tile_format *format,
    bool sparse, const char *spec, int count, tulle__runner **out)
{
    struct device_run *run = NULL;
    tulle_status status;
    int near_rank = 0, near_size = 1, processes = 1;
    TULLE_TRY(tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *run, "a plan", &run));
    run->runner = (tulle__runner){
        .ops = &ops, .format = format, .ahead = sparse ? 0 : count, .devices = count, .capacity = SIZE_MAX};
    run->runner.most = sparse ? TULLE__DEVICE_SPARSE_PAIRS - 1 : TULLE__DEVICE_PAIRS; /* and the old C */
    run->comm = comm;
    run->context = context;
    run->count = count;
    TULLE_TRY(tulle__alloc_zero((size_t)count, sizeof *run->device, "devices", &run->device));
    TULLE_TRY(tulle__alloc_zero((size_t)count, sizeof *run->tiles, "devices", &run->tiles));
    for (; run->opened < count; run->opened++) {
        struct device *d = &run->device[run->opened];
        status = open_device(comm, run, spec, sparse, near_rank * count + run->opened, near_size * count, processes, d);
        if (status != TULLE_OK && d->device) run->opened++; /* what it has is freed */
        if (status != TULLE_OK) goto out;
        run->tiles[run->opened] = d->tiles;
        d->results = d->device->capacity / 2;
        if (d->device->capacity < run->runner.capacity) run->runner.capacity = d->device->capacity;
    }
    run->runner.receiver = tulle__receive_buffers_of(run->receiver);
    run->runner.by_times = goes_by_times(run->device[0].device);
    run->runner.keeps_structure = sparse;
    for (int n = 0; n < count; n++)
        run->runner.keeps_structure &= tulle__device_has(run->device[n].device, TULLE__DEVICE_VALUES);
    run->runner.peers = true;
    for (int n = 1; n < count; n++)
        for (int m = 0; m < n; m++) {
            const tulle__device *x = run->device[n].device, *y = run->device[m].device;
            run->runner.peers &= x->ops->peer(x, y) && y->ops->peer(y, x);
        }
    for (int n = 0; n < count; n++) tulle__device_tiles_meet(run->tiles[n], run->tiles, count);
    *out = &run->runner;
    return TULLE_OK;
out:
    if (run) free_run(&run->runner);
    return status;
}
