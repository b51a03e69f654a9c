/* SPDX-License-Identifier: Apache-2.0 */
/* A stream as an operator of Krylov methods. */
#include "algo/krylov/operator.h"
#include "algo/stream/stream.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

struct streamed_sides {
    tulle__owned owned;
    tulle_stream *stream;
    tulle_mat *x, *y;
};

static void drop(tulle__owned *object)
{
    tulle__free(object);
}

static tulle_status bind_sides(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    tulle_stream *stream = context;
    struct streamed_sides *bound = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *bound, "an operator", &bound);
    status = tulle_comm_agree(stream->comm, status);
    if (status != TULLE_OK) {
        tulle__free(bound);
        return status;
    }
    bound->stream = stream;
    bound->x = x;
    bound->y = y;
    tulle__pe_own(stream->comm->pe, &bound->owned, drop);
    *out = bound;
    return TULLE_OK;
}

static tulle_status apply_sides(void *arg)
{
    const struct streamed_sides *bound = arg;
    return tulle_stream_multiply(bound->stream, bound->x, bound->y, NULL);
}

static void unbind_sides(void *arg)
{
    struct streamed_sides *bound = arg;
    tulle__pe_disown(&bound->owned);
    drop(&bound->owned);
}

/* ---- vectors that stay on the device ---- */

static void where(void *context, tulle__device **device, tulle__device_queue **queue)
{
    const tulle_stream *s = context;
    *device = s->device;
    *queue = s->kernels;
}

/* Between the solve's vectors and the stream's, both with this PE's rows. */
static void copy_within(
    const tulle_stream *s, size_t bytes, const tulle__device_place *to, const tulle__device_place *from)
{
    if (bytes)
        s->device->ops->copy(s->kernels,
            &(tulle__device_copy){
                .to = *to, .from = *from, .lines = 1, .width = bytes, .to_pitch = bytes, .from_pitch = bytes});
}

/* Own rows of x are on the host for others, and theirs on the device. */
static tulle_status exchange(const struct streamed_sides *bound, size_t bytes, void *own, const tulle__device_place *x)
{
    tulle_stream *s = bound->stream;
    if (s->comm->size == 1) return TULLE_OK;
    if (bytes) s->device->ops->download(s->kernels, own, x, bytes);
    TULLE_CALL(tulle_comm_agree(s->comm, tulle__ring_wait(s, s->kernels)));
    return tulle__stream_gather(s, bound->x, false);
}

static tulle_status apply_resident(void *arg, const tulle__device_place *x, const tulle__device_place *y)
{
    const struct streamed_sides *bound = arg;
    tulle_stream *s = bound->stream;
    const tulle_layout *l = s->layout;
    tulle__stream_times times = {0, 0};
    const tulle_gidx cols = bound->x->layout->n;
    size_t line = (size_t)cols * tulle_type_size(s->type), bytes = 0;
    int64_t first = 0;
    void *own = NULL;
    for (int i = 0; i < l->mt; i++)
        if (tulle__tile_is_mine(bound->x, i, 0) && tulle__tile_rows(bound->x, i)) {
            first = l->row_cut[i];
            bytes = (size_t)tulle__tile_rows(bound->x, i) * line;
            own = tulle__own_tile_in_place(bound->x, i, 0).val;
        }
    tulle_status status = exchange(bound, bytes, own, x);
    copy_within(s, bytes, &(tulle__device_place){s->X, (size_t)first * line}, x);
    if (status == TULLE_OK) status = tulle__ring_pass(s, cols, &times);
    if (status == TULLE_OK) copy_within(s, bytes, y, &(tulle__device_place){s->Y, 0});
    if (status == TULLE_OK) status = tulle__ring_wait(s, s->kernels);
    return tulle_comm_agree(s->comm, status);
}

static const struct tulle__resident resident = {.where = where, .apply = apply_resident};

/*
 * Devices with memories of their own that work on vectors, whose columns are side by side; no PE adds to others' rows.
 * Collective: all PEs have the same answer.
 */
static tulle_status find_resident(tulle_stream *s, const struct tulle__resident **out)
{
    int64_t own = !s->spilled && !s->spill && !(s->options.column_by_column && s->options.cols > 1) &&
                  !s->device->ops->borrow && tulle__device_has(s->device, TULLE__DEVICE_DOTS);
    tulle_status status = tulle_comm_agree(s->comm, tulle_comm_reduce_int(s->comm, TULLE_MIN, 1, &own));
    *out = own ? &resident : NULL;
    return status;
}

tulle_status tulle_operator_of_stream(tulle_stream *stream, tulle_operator *op)
{
    if (TULLE__NULL(stream) || TULLE__NULL(op)) return tulle__refuse(stream ? stream->comm : NULL);
    tulle_status status = TULLE_OK;
    if (stream->m != stream->n)
        status = tulle__fail(TULLE_ERR_ARG, "an operator needs a square matrix, but this one is %lld x %lld",
            (long long)stream->m, (long long)stream->n);
    else if (!tulle__operator_one_tile_each(stream->layout, stream->comm->size))
        status = tulle__fail(TULLE_ERR_ARG, "an operator needs each PE's rows to be contiguous");
    const struct tulle__resident *found = NULL;
    TULLE_CALL(tulle_comm_agree(stream->comm, status));
    TULLE_CALL(find_resident(stream, &found));
    tulle_operator made = {.comm = stream->comm,
        .n = stream->n,
        .type = stream->type,
        .layout = stream->layout,
        .context = stream,
        .bind = bind_sides,
        .apply = apply_sides,
        .unbind = unbind_sides,
        .cols = stream->options.cols};
    if (found) tulle__resident_set(found, &stream->on_device, &made);
    TULLE__OPTIONS_WRITE(op, &made, cols);
    return TULLE_OK;
}
