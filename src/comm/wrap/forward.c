/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "comm/wrap/wrap.h"

uint64_t tulle__forward_get(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    return link->inner->ops->get(link->inner, group, place, at, local, bytes);
}

uint64_t tulle__forward_put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return link->inner->ops->put(link->inner, group, place, at, local, bytes);
}

uint64_t tulle__forward_getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return link->inner->ops->getv(link->inner, group, place, n, range);
}

uint64_t tulle__forward_putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return link->inner->ops->putv(link->inner, group, place, n, range);
}

int tulle__forward_ready(tulle__link *link, int group, uint64_t count)
{
    return link->inner->ops->ready(link->inner, group, count);
}

tulle_status tulle__forward_wait(tulle__link *link, int group, uint64_t count)
{
    return link->inner->ops->wait(link->inner, group, count);
}

uint64_t tulle__forward_fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    return link->inner->ops->fetch_add(link->inner, place, at, value);
}

uint64_t tulle__forward_compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    return link->inner->ops->compare_swap(link->inner, place, at, expected, desired);
}

void tulle__forward_store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    link->inner->ops->store(link->inner, place, at, value);
}

uint64_t tulle__forward_load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return link->inner->ops->load(link->inner, place, at);
}

void *tulle__forward_mapped(tulle__link *link, int rank, int segment)
{
    return link->inner->ops->mapped(link->inner, rank, segment);
}

void *tulle__mapped_own(tulle__link *link, int rank, int segment)
{
    return rank == link->rank ? link->inner->ops->mapped(link->inner, rank, segment) : NULL;
}

int tulle__forward_doze(tulle__link *link, const uint64_t *word, uint64_t value)
{
    return link->inner->ops->doze && link->inner->ops->doze(link->inner, word, value);
}

void tulle__forward_progress(tulle__link *link)
{
    link->inner->ops->progress(link->inner);
}

tulle_status tulle__forward_run_end(tulle__link *link)
{
    return link->inner->ops->run_end ? link->inner->ops->run_end(link->inner) : TULLE_OK;
}

void tulle__forward_fini(tulle__link *link)
{
    tulle__link *inner = link->inner;
    tulle__free(link);
    inner->ops->fini(inner);
}

void tulle__wrap(tulle__link *link, const tulle__link_ops *ops, tulle__link *inner)
{
    link->ops = ops;
    link->inner = inner;
    link->rank = inner->rank;
    link->npes = inner->npes;
    for (int s = 0; s < TULLE__SEGMENTS; s++) link->segment_bytes[s] = inner->segment_bytes[s];
    link->pinned = inner->pinned;
    link->bare = inner->bare;
    link->virtual_time = inner->virtual_time;
    link->clock = inner->clock;
    link->faults = inner->faults;
}
