/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/required_source.h"

static tulle_status begin(tulle__source *source, const tulle__waiting *waiting, int64_t *copied)
{
    tulle__required_source *s = (tulle__required_source *)source;
    tulle__node_cache *node_cache = tulle__required_node_cache(s->required);
    int64_t bytes;
    s->waiting = *waiting;
    if (node_cache) tulle__node_cache_begin(node_cache);
    tulle_status status = tulle__required_refresh(s->required, s->operands, &bytes);
    *copied += bytes;
    return status;
}

static tulle_status start(tulle__source *source, const tulle__wanted *w, tulle__fetch *fetch)
{
    tulle__required_source *s = (tulle__required_source *)source;
    if (w->factor == TULLE__FACTOR_A && w->delegation)
        return tulle__delegation_fetch(w->delegation, s->operands->A, fetch);
    if (w->factor == TULLE__FACTOR_A || !tulle__required_listed(s->required, w->i, w->k, w->j))
        return tulle__source_start(source->below, w, fetch);
    return tulle__required_fetch(s->required, s->operands, w->i, w->k, w->j, fetch);
}

/* Part of a divided tile that is multiplied here. */
static tulle_status await_a(tulle__required_source *s, const tulle__wanted *w, tulle__fetch *fetch, tulle_tile *tile)
{
    tulle__csr given;
    tulle_type type = s->operands->A->type;
    TULLE_CALL(w->delegation ? tulle__delegation_await(w->delegation, fetch, &given)
                             : tulle__source_await(s->source.below, w, fetch, tile));
    const tulle__cut *cut = tulle__required_cut(s->required, w->i, w->k, w->j);
    if (w->delegation)
        *tile = tulle__csr_tile(&given, type);
    else if (cut)
        *tile = tulle__csr_tile(&cut->rest, type);
    return TULLE_OK;
}

static tulle_status await(tulle__source *source, const tulle__wanted *w, tulle__fetch *fetch, tulle_tile *tile)
{
    tulle__required_source *s = (tulle__required_source *)source;
    tulle__node_cache *node_cache = tulle__required_node_cache(s->required);
    if (w->factor == TULLE__FACTOR_A) return await_a(s, w, fetch, tile);
    if (tulle__required_listed(s->required, w->i, w->k, w->j) && tulle__node_cache_has(node_cache, w->k, w->j))
        TULLE_CALL(
            tulle__node_cache_await(node_cache, s->operands->B, w->k, w->j, s->waiting.serve, s->waiting.context));
    return tulle__fetch_await(fetch, tile);
}

static tulle_status serve(tulle__source *source, int *done)
{
    tulle__required_source *s = (tulle__required_source *)source;
    tulle__node_cache *node_cache = tulle__required_node_cache(s->required);
    int all = 1;
    if (!node_cache) return TULLE_OK;
    tulle_status status = tulle__node_cache_serve(node_cache, s->operands->B, 1 + s->waiting.lookahead, &all);
    *done &= all;
    return status;
}

static void end(tulle__source *source)
{
    tulle__node_cache *node_cache = tulle__required_node_cache(((tulle__required_source *)source)->required);
    if (node_cache) tulle__node_cache_drain(node_cache);
}

static const tulle__source_ops ops = {
    .begin = begin, .start = start, .await = await, .reach = tulle__source_no_reach, .serve = serve, .end = end};

tulle__source *tulle__required_source_init(
    tulle__required_source *source, tulle__source *below, tulle__required *required, const tulle__operands *operands)
{
    *source = (tulle__required_source){.source = {&ops, below}, .required = required, .operands = operands};
    return &source->source;
}
