/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/source.h"

tulle_status tulle__sources_begin(tulle__source *top, const tulle__waiting *waiting, int64_t *copied)
{
    tulle_status status = TULLE_OK;
    for (tulle__source *s = top; s && status == TULLE_OK; s = s->below) status = s->ops->begin(s, waiting, copied);
    return status;
}

tulle_status tulle__sources_reach(tulle__source *top, int step, int64_t *wait_ns)
{
    tulle_status status = TULLE_OK;
    for (tulle__source *s = top; s && status == TULLE_OK; s = s->below) status = s->ops->reach(s, step, wait_ns);
    return status;
}

tulle_status tulle__sources_serve(tulle__source *top, int *done)
{
    tulle_status status = TULLE_OK;
    *done = 1;
    for (tulle__source *s = top; s && status == TULLE_OK; s = s->below) status = s->ops->serve(s, done);
    return status;
}

void tulle__sources_end(tulle__source *top)
{
    for (tulle__source *s = top; s; s = s->below) s->ops->end(s);
}

tulle_status tulle__source_no_begin(tulle__source *source, const tulle__waiting *waiting, int64_t *copied)
{
    (void)source, (void)waiting, (void)copied;
    return TULLE_OK;
}

tulle_status tulle__source_no_reach(tulle__source *source, int step, int64_t *wait_ns)
{
    (void)source, (void)step, (void)wait_ns;
    return TULLE_OK;
}

tulle_status tulle__source_no_serve(tulle__source *source, int *done)
{
    (void)source, (void)done;
    return TULLE_OK;
}

static void source_no_end(tulle__source *source)
{
    (void)source;
}

static tulle_status start(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch)
{
    const tulle__operands *o = ((tulle__single_tiles *)source)->operands;
    return wanted->factor == TULLE__FACTOR_A ? tulle__fetch_into(o->A, wanted->i, wanted->k, o->receiver, fetch)
                                             : tulle__fetch_into(o->B, wanted->k, wanted->j, o->receiver, fetch);
}

static tulle_status await(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch, tulle_tile *tile)
{
    (void)source, (void)wanted;
    return tulle__fetch_await(fetch, tile);
}

static const tulle__source_ops single_tiles = {.begin = tulle__source_no_begin,
    .start = start,
    .await = await,
    .reach = tulle__source_no_reach,
    .serve = tulle__source_no_serve,
    .end = source_no_end};

tulle__source *tulle__single_tiles_init(tulle__single_tiles *tiles, const tulle__operands *operands)
{
    *tiles = (tulle__single_tiles){.source = {.ops = &single_tiles}, .operands = operands};
    return &tiles->source;
}
