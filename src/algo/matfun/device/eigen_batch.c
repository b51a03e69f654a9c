/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/device/eigen_batch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/pe_device.h"

/* ---- the device ---- */

tulle_status tulle__eigen_device_new(tulle_comm *comm, const char *spec, tulle__eigen_device **out)
{
    tulle_status status;
    tulle__eigen_device *d = NULL;
    int near_rank = 0, near_size = 1, processes = 1;
    if (tulle__is_virtual(comm))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "submatrices on a device, which takes real time, in virtual time");
    TULLE_TRY(tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *d, "a device", &d));
    const tulle__device_setting setting = {.threads = comm->pe->threads,
        .overlap = 1,
        .rank = comm->rank,
        .near_rank = near_rank,
        .near_size = near_size,
        .near_processes = processes,
        .timeline = comm->pe->timeline};
    TULLE_TRY(tulle__pe_device_open(comm->pe, spec, &setting, &d->device));
    if (!tulle__device_has(d->device, TULLE__DEVICE_EIGEN) || !tulle__device_has(d->device, TULLE__DEVICE_CHAIN))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' has no eigenvectors of submatrices", spec));
    for (int i = 0; i < TULLE__EIGEN_BATCHES; i++) {
        d->batch[i].owner = d;
        TULLE_TRY(d->device->ops->queue_new(d->device, &d->batch[i].queue));
    }
    *out = d;
    return TULLE_OK;
out:
    tulle__eigen_device_free(d);
    return status;
}

void tulle__eigen_device_free(tulle__eigen_device *d)
{
    if (!d) return;
    for (int i = 0; d->device && i < TULLE__EIGEN_BATCHES; i++) {
        tulle__eigen_batch_drop(&d->batch[i]);
        d->device->ops->queue_free(d->device, d->batch[i].queue);
    }
    tulle__device_close(d->device);
    tulle__free(d);
}

tulle_device_work tulle__eigen_device_work(const tulle__eigen_device *d)
{
    const tulle__device_counts *counts = &d->device->counting->counts;
    static const enum tulle__copy_kind kinds[] = {TULLE__COPY_UP, TULLE__COPY_DOWN, TULLE__COPY_PEER};
    tulle_device_work work = {
        .devices = 1, .kernels = counts->kernels, .kernel_seconds = (double)counts->kernel_ns * 1e-9};
    for (int c = 0; c < 3; c++) {
        work.copies[c] = counts->copies[kinds[c]];
        work.bytes[c] = counts->bytes[kinds[c]];
        work.copy_seconds[c] = (double)counts->copy_ns[kinds[c]] * 1e-9;
    }
    return work;
}

/* ---- memory of a batch ---- */

static size_t place(size_t *at, size_t bytes)
{
    size_t here = *at;
    *at += (bytes + 255) / 256 * 256;
    return here;
}

/* Places of its parts, on the device as on the host. */
static void lay_out(tulle__eigen_batch *batch)
{
    size_t size = tulle_type_size(batch->type), count = (size_t)batch->count, columns = 0, at = 0;
    size_t square = (size_t)batch->n * (size_t)batch->n * size;
    for (int k = 0; k < batch->count; k++) {
        batch->item[k].columns = columns;
        columns += (size_t)(batch->item[k].n * batch->item[k].b);
    }
    (void)place(&at, count * square); /* A; S and S E of pairs */
    if (batch->pair) (void)place(&at, count * square);
    batch->up = batch->pair ? place(&at, columns * size) : 0;
    batch->lambda = place(&at, count * (size_t)batch->n * size);
    batch->fault = place(&at, count * sizeof(int32_t));
    batch->far = place(&at, columns * size);
    batch->weights = place(&at, batch->pair ? columns * size : 0);
    batch->down = at;
    batch->parts = place(&at, columns * size);
    batch->results = place(&at, columns * size);
    batch->bytes = at;
    for (int k = 0; k < batch->count; k++) {
        tulle__eigen_item *item = &batch->item[k];
        size_t before = item->columns * size;
        item->eigen.A = batch->host + (size_t)k * square;
        item->eigen.S = batch->pair ? batch->host + (count + (size_t)k) * square : NULL;
        item->near = batch->host + batch->up + before;
        item->far = batch->host + batch->far + before;
        item->weights = batch->host + batch->weights + before;
        item->eigen.X = batch->host + batch->results + before;
    }
}

/* A buffer of at least so many bytes; *fits = false: the device has no room for it. */
static tulle_status find_buffer(tulle__device *device, size_t bytes, tulle__device_buffer **buffer, bool *fits)
{
    if (*buffer && (*buffer)->bytes >= bytes) return TULLE_OK;
    tulle__device_buffer_free(device, *buffer);
    *buffer = NULL;
    *fits = bytes <= device->capacity - device->used;
    return *fits ? tulle__device_buffer_new(device, bytes, "submatrices", buffer) : TULLE_OK;
}

static tulle__device_place at(const tulle__eigen_batch *batch, size_t offset)
{
    return (tulle__device_place){batch->data, offset};
}

/* Places of matrix k on the device. */
static tulle__device_place of_item(const tulle__eigen_batch *batch, size_t part, int k)
{
    return at(batch, part + batch->item[k].columns * tulle_type_size(batch->type));
}

static size_t square_at(const tulle__eigen_batch *batch, int k)
{
    return (size_t)k * (size_t)batch->n * (size_t)batch->n * tulle_type_size(batch->type);
}

static tulle__device_eigen task_of(const tulle__eigen_batch *batch)
{
    tulle__device_eigen task = {.type = batch->type,
        .n = batch->n,
        .count = batch->count,
        .A = at(batch, 0),
        .lambda = at(batch, batch->lambda),
        .fault = at(batch, batch->fault)};
    if (batch->pair) task.S = at(batch, square_at(batch, batch->count));
    if (batch->work) {
        task.workspace = (tulle__device_place){batch->work, 0};
        task.bytes = batch->work->bytes;
    }
    return task;
}

static tulle_status find_room(tulle__eigen_batch *batch, bool *fits)
{
    tulle__device *device = batch->owner->device;
    size_t bytes = 0;
    TULLE_CALL(find_buffer(device, batch->bytes, &batch->data, fits));
    if (!*fits) return TULLE_OK;
    tulle__device_eigen task = task_of(batch);
    TULLE_CALL(device->ops->eigen_bytes(device, &task, &bytes));
    if (bytes) TULLE_CALL(find_buffer(device, bytes, &batch->work, fits));
    return TULLE_OK;
}

static tulle_status find_host(tulle__eigen_batch *batch)
{
    tulle__device *device = batch->owner->device;
    size_t doubles = 0;
    if (batch->host_bytes < batch->bytes) {
        device->ops->host_free(device, batch->host);
        batch->host = NULL;
        batch->host_bytes = 0;
        TULLE_CALL(device->ops->host_new(device, batch->bytes, "submatrices for a device", &batch->host));
        batch->host_bytes = batch->bytes;
    }
    for (int k = 0; k < batch->count; k++)
        doubles += (size_t)(batch->item[k].n * ((batch->pair ? 2 : 1) * batch->item[k].b + 2));
    if (batch->capacity < doubles) {
        tulle__free(batch->doubles);
        batch->doubles = NULL;
        batch->capacity = 0;
        TULLE_CALL(tulle__alloc(doubles, sizeof *batch->doubles, "eigenvalues", &batch->doubles));
        batch->capacity = doubles;
    }
    return TULLE_OK;
}

static void share_doubles(tulle__eigen_batch *batch)
{
    double *next = batch->doubles;
    for (int k = 0; k < batch->count; k++) {
        tulle__eigen_item *item = &batch->item[k];
        item->eigen.lambda = next;
        item->eigen.value = next + item->n;
        item->eigen.Y = next + 2 * item->n;
        next += (2 + item->b) * item->n;
        if (!batch->pair) continue;
        item->eigen.U = next;
        next += item->n * item->b;
    }
}

tulle_status tulle__eigen_batch_begin(
    tulle__eigen_batch *batch, tulle_type type, bool pair, int count, const int64_t (*shape)[2], bool *fits)
{
    batch->type = type;
    batch->pair = pair;
    batch->count = count;
    batch->n = 0;
    *fits = true;
    for (int k = 0; k < count; k++) {
        batch->item[k] = (tulle__eigen_item){
            .n = shape[k][0], .b = shape[k][1], .eigen = {.type = type, .most = shape[k][0], .columns = shape[k][1]}};
        if (shape[k][0] > batch->n) batch->n = shape[k][0];
    }
    lay_out(batch); /* how many bytes */
    TULLE_CALL(find_room(batch, fits));
    if (!*fits) return TULLE_OK;
    TULLE_CALL(find_host(batch));
    lay_out(batch);
    share_doubles(batch);
    return TULLE_OK;
}

void tulle__eigen_batch_drop(tulle__eigen_batch *batch)
{
    tulle__device *device = batch->owner ? batch->owner->device : NULL;
    if (!device) return;
    if (batch->queue) (void)device->ops->queue_wait(batch->queue); /* after a failure too nothing uses it */
    tulle__device_buffer_free(device, batch->data);
    tulle__device_buffer_free(device, batch->work);
    device->ops->host_free(device, batch->host);
    tulle__free(batch->doubles);
    batch->data = batch->work = NULL;
    batch->host = NULL;
    batch->doubles = NULL;
    batch->host_bytes = batch->capacity = 0;
}

/* ---- decompositions ---- */

#define TEMPLATE "algo/matfun/device/eigen_batch_typed.h"
#include "kernel/both_types.h"

void tulle__eigen_batch_fill(tulle__eigen_batch *batch, int k, const int64_t *column)
{
    tulle__eigen_item *item = &batch->item[k];
    if (batch->type == TULLE_F32)
        fill_f32(item, batch->n, column);
    else
        fill_f64(item, batch->n, column);
}

/* Rows `column` of the eigenvectors, side by side; neighbouring ones by one copy. */
static void gather_rows(const tulle__eigen_batch *batch, int k, const int64_t *column)
{
    const tulle__device_ops *ops = batch->owner->device->ops;
    const tulle__eigen_item *item = &batch->item[k];
    size_t size = tulle_type_size(batch->type);
    for (int64_t c = 0, next; c < item->b; c = next) {
        for (next = c + 1; next < item->b && column[next] == column[next - 1] + 1;) next++;
        tulle__device_copy copy = {.to = of_item(batch, batch->far, k),
            .from = at(batch, square_at(batch, k) + (size_t)column[c] * size),
            .lines = (size_t)item->n,
            .width = (size_t)(next - c) * size,
            .to_pitch = (size_t)item->b * size,
            .from_pitch = (size_t)batch->n * size};
        copy.to.at += (size_t)c * size;
        ops->copy(batch->queue, &copy);
    }
}

/* C = A Q^T or A Q for b lines A of matrix k. */
static void multiply(const tulle__eigen_batch *batch, int k, size_t lines, tulle_order order, size_t result)
{
    const tulle__eigen_item *item = &batch->item[k];
    tulle__device_chain task = {.type = batch->type,
        .m = item->b,
        .n = item->n,
        .npairs = 1,
        .C = of_item(batch, result, k),
        .c_row = item->n,
        .c_col = 1,
        .alpha = 1};
    task.A[0] = (tulle__device_tile){.kind = TULLE_DENSE,
        .type = batch->type,
        .order = TULLE_ROW_MAJOR,
        .m = item->b,
        .n = item->n,
        .ld = item->n,
        .val = of_item(batch, lines, k)};
    task.B[0] = (tulle__device_tile){.kind = TULLE_DENSE,
        .type = batch->type,
        .order = order,
        .m = item->n,
        .n = item->n,
        .ld = batch->n,
        .val = at(batch, square_at(batch, k))};
    tulle__start_chain(batch->owner->device, batch->queue, &task);
}

void tulle__eigen_batch_start(tulle__eigen_batch *batch, const int64_t *const *column)
{
    const tulle__device_ops *ops = batch->owner->device->ops;
    const tulle__device_place start = at(batch, 0), down = at(batch, batch->lambda);
    const tulle__device_eigen task = task_of(batch);
    ops->upload(batch->queue, &start, batch->host, batch->lambda);
    tulle__start_eigen(batch->owner->device, batch->queue, &task);
    for (int k = 0; k < batch->count; k++) {
        gather_rows(batch, k, column[k]);
        if (batch->pair) multiply(batch, k, batch->up, TULLE_COL_MAJOR, batch->weights);
    }
    ops->download(batch->queue, batch->host + batch->lambda, &down, batch->down - batch->lambda);
}

tulle_status tulle__eigen_batch_wait(tulle__eigen_batch *batch)
{
    return batch->owner->device->ops->queue_wait(batch->queue);
}

tulle_status tulle__eigen_batch_read(tulle__eigen_batch *batch, int k)
{
    tulle__eigen_item *item = &batch->item[k];
    const int32_t *fault = (const int32_t *)(const void *)(batch->host + batch->fault);
    const char *lambda = batch->host + batch->lambda + (size_t)k * (size_t)batch->n * tulle_type_size(batch->type);
    if (fault[k] && batch->pair)
        return tulle__fail(TULLE_ERR_ARG,
            "the part of S in a submatrix of %" PRId64 " rows is not positive definite, or its decomposition failed "
            "(info %d)",
            item->n, fault[k]);
    if (fault[k])
        return tulle__fail(TULLE_ERR_CONVERGENCE,
            "the device's decomposition of a submatrix of %" PRId64 " rows failed (info %d)", item->n, fault[k]);
    if (batch->type == TULLE_F32)
        read_f32(item, lambda);
    else
        read_f64(item, lambda);
    return TULLE_OK;
}

static char *part_of(const tulle__eigen_batch *batch, int k)
{
    return batch->host + batch->parts + batch->item[k].columns * tulle_type_size(batch->type);
}

void tulle__eigen_batch_part(tulle__eigen_batch *batch, int k)
{
    if (batch->type == TULLE_F32)
        part_f32(&batch->item[k], part_of(batch, k));
    else
        part_f64(&batch->item[k], part_of(batch, k));
}

void tulle__eigen_batch_apply(tulle__eigen_batch *batch, const bool *wanted)
{
    const tulle__device_ops *ops = batch->owner->device->ops;
    const size_t size = tulle_type_size(batch->type);
    bool all = true, any = false;
    for (int k = 0; k < batch->count; k++) {
        all = all && wanted[k];
        any = any || wanted[k];
    }
    if (!any) return;
    const tulle__device_place parts = at(batch, batch->parts), results = at(batch, batch->results);
    if (all) ops->upload(batch->queue, &parts, batch->host + batch->parts, batch->results - batch->parts);
    for (int k = 0; k < batch->count; k++) {
        const tulle__device_place part = of_item(batch, batch->parts, k);
        if (!wanted[k]) continue;
        if (!all)
            ops->upload(batch->queue, &part, part_of(batch, k), (size_t)(batch->item[k].n * batch->item[k].b) * size);
        multiply(batch, k, batch->parts, TULLE_ROW_MAJOR, batch->results);
    }
    ops->download(batch->queue, batch->host + batch->results, &results, batch->bytes - batch->results);
}
