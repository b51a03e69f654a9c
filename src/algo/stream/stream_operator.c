/* SPDX-License-Identifier: Apache-2.0 */
/* A stream as an operator of Krylov methods. */
#include "algo/krylov/operator.h"
#include "algo/stream/stream.h"
#include "base/arg.h"
#include "base/error.h"

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

tulle_status tulle_operator_of_stream(tulle_stream *stream, tulle_operator *op)
{
    if (TULLE__NULL(stream) || TULLE__NULL(op)) return tulle__refuse(stream ? stream->comm : NULL);
    tulle_status status = TULLE_OK;
    if (stream->m != stream->n)
        status = tulle__fail(TULLE_ERR_ARG, "an operator needs a square matrix, but this one is %lld x %lld",
            (long long)stream->m, (long long)stream->n);
    else if (!tulle__operator_one_tile_each(stream->layout, stream->comm->size))
        status = tulle__fail(TULLE_ERR_ARG, "an operator needs each PE's rows to be contiguous");
    status = tulle_comm_agree(stream->comm, status);
    if (status != TULLE_OK) return status;
    *op = (tulle_operator){.comm = stream->comm,
        .n = stream->n,
        .type = stream->type,
        .layout = stream->layout,
        .context = stream,
        .bind = bind_sides,
        .apply = apply_sides,
        .unbind = unbind_sides,
        .cols = stream->options.cols};
    return TULLE_OK;
}
