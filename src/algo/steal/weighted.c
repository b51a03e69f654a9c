/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/steal/weighted.h"

#include <string.h>

#include "base/error.h"

/* The own lists; their place in the block: weights before items, then the description. */
static tulle_status publish(
    tulle__weighted *w, int64_t count, const double *weight, size_t bytes, const void *description)
{
    tulle__pe *pe = w->comm->pe;
    size_t sums = ((size_t)count + 1) * sizeof(double);
    TULLE_CALL(tulle__heap_take(pe->control, sizeof(uint64_t), "claims on items", &w->own_word));
    w->word_taken = true;
    tulle__word_write(tulle__mapped(w->comm, &w->own_word), (uint64_t)count);
    TULLE_CALL(tulle__heap_take(pe->data, sums + bytes, "a description of items", &w->own_block));
    w->block_taken = true;
    char *block = tulle__mapped(w->comm, &w->own_block);
    double before = 0;
    for (int64_t k = 0; k <= count; k++) {
        memcpy(block + (size_t)k * sizeof before, &before, sizeof before);
        if (k < count) before += weight[k];
    }
    if (bytes) memcpy(block + sums, description, bytes);
    return TULLE_OK;
}

tulle_status tulle__weighted_init(
    tulle__weighted *w, tulle_comm *comm, int64_t count, const double *weight, size_t bytes, const void *description)
{
    size_t pes = (size_t)comm->size;
    *w = (tulle__weighted){.comm = comm};
    TULLE_CALL(tulle__alloc(pes, sizeof *w->word, "claims on items", &w->word));
    TULLE_CALL(tulle__alloc(pes, sizeof *w->block, "claims on items", &w->block));
    TULLE_CALL(tulle__alloc(pes, sizeof *w->count, "claims on items", &w->count));
    TULLE_CALL(tulle__alloc_zero(pes, sizeof *w->before, "claims on items", &w->before));
    TULLE_CALL(tulle__alloc_zero(pes, sizeof *w->claimed, "claims on items", &w->claimed));
    TULLE_CALL(publish(w, count, weight, bytes, description));
    TULLE_CALL(tulle_comm_allgather(comm, &w->own_word, sizeof w->own_word, w->word));
    TULLE_CALL(tulle_comm_allgather(comm, &w->own_block, sizeof w->own_block, w->block));
    return tulle_comm_allgather(comm, &count, sizeof count, w->count);
}

void tulle__weighted_fini(tulle__weighted *w)
{
    if (w->word_taken) tulle__heap_give(w->comm->pe->control, &w->own_word);
    if (w->block_taken) tulle__heap_give(w->comm->pe->data, &w->own_block);
    for (int pe = 0; w->before && pe < w->comm->size; pe++) tulle__free(w->before[pe]);
    tulle__free(w->before);
    tulle__free(w->claimed);
    tulle__free(w->word);
    tulle__free(w->block);
    tulle__free(w->count);
    *w = (tulle__weighted){.comm = NULL};
}

void tulle__weighted_open(tulle__weighted *w)
{
    memset(w->claimed, 0, (size_t)w->comm->size * sizeof *w->claimed);
    tulle__word_write(tulle__mapped(w->comm, &w->own_word), 0);
}

static tulle_status get(tulle__weighted *w, int owner, size_t at, size_t bytes, void *part)
{
    int group = tulle__comm_group(w->comm);
    (void)tulle__get(w->comm, group, &w->block[owner], at, part, bytes);
    return tulle__wait(w->comm, group);
}

static tulle_status know(tulle__weighted *w, int owner)
{
    size_t items = (size_t)w->count[owner] + 1;
    if (w->before[owner]) return TULLE_OK;
    TULLE_CALL(tulle__alloc(items, sizeof **w->before, "weights of items", &w->before[owner]));
    return get(w, owner, 0, items * sizeof **w->before, w->before[owner]);
}

tulle_status tulle__weighted_claim(
    tulle__weighted *w, int owner, double share, int64_t least, int64_t spared, int64_t *first, int64_t *end)
{
    int64_t count = w->count[owner];
    *first = *end = count;
    if (!count) return TULLE_OK;
    TULLE_CALL(know(w, owner));
    const double *before = w->before[owner];
    for (uint64_t seen = tulle__load(w->comm, &w->word[owner], 0);;) {
        int64_t at = (int64_t)seen, to = at;
        if (count - at <= spared) return TULLE_OK;
        int64_t most = count - at - spared, some = least < most ? least : most;
        double aim = before[at] + share * (before[count] - before[at]);
        while (to - at < most && (to - at < some || before[to + 1] <= aim)) to++;
        uint64_t found = tulle__compare_swap(w->comm, &w->word[owner], 0, seen, (uint64_t)to);
        if (found == seen) {
            *first = at;
            *end = to;
            return TULLE_OK;
        }
        seen = found;
    }
}

tulle_status tulle__weighted_largest(tulle__weighted *w, int owner, double *weight)
{
    *weight = 0;
    if (!w->count[owner]) return TULLE_OK;
    TULLE_CALL(know(w, owner));
    for (int64_t k = 0; k < w->count[owner]; k++) {
        double own = w->before[owner][k + 1] - w->before[owner][k];
        if (own > *weight) *weight = own;
    }
    return TULLE_OK;
}

tulle_status tulle__weighted_describe(tulle__weighted *w, int owner, size_t at, size_t bytes, void *part)
{
    return bytes ? get(w, owner, ((size_t)w->count[owner] + 1) * sizeof(double) + at, bytes, part) : TULLE_OK;
}
