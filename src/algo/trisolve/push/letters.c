/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/push/letters.h"

#include <string.h>

#include "base/error.h"

/* The beginnings of each reader's part, and all letters behind them, where others can read them. */
static tulle_status post(tulle_comm *comm, const tulle__letter *letter, const int64_t *first, tulle__place *block)
{
    size_t head = ((size_t)comm->size + 1) * sizeof *first, count = (size_t)first[comm->size];
    tulle_status status = tulle__heap_take(comm->pe->data, head + count * sizeof *letter, "letters", block);
    if (status != TULLE_OK) return status;
    char *at = tulle__direct(comm, block);
    memcpy(at, first, head);
    if (count) memcpy(at + head, letter, count * sizeof *letter);
    return TULLE_OK;
}

/* Those of one PE, appended. */
static tulle_status fetch(tulle_comm *comm, const tulle__place *place, tulle__letter **got, int64_t *count)
{
    int64_t part[2];
    int group = tulle__comm_group(comm);
    size_t head = ((size_t)comm->size + 1) * sizeof *part;
    tulle__get(comm, group, place, (uint64_t)comm->rank * sizeof *part, part, sizeof part);
    tulle_status status = tulle__wait(comm, group);
    int64_t more = part[1] - part[0];
    if (status != TULLE_OK || !more) return status;
    status = tulle__realloc((size_t)(*count + more), sizeof **got, "letters", got);
    if (status != TULLE_OK) return status;
    tulle__get(comm, group, place, head + (uint64_t)part[0] * sizeof **got, *got + *count, (size_t)more * sizeof **got);
    *count += more;
    return tulle__wait(comm, group);
}

tulle_status tulle__letters_exchange(
    tulle_comm *comm, const tulle__letter *letter, const int64_t *first, tulle__letter **got, int64_t *from)
{
    tulle__place block = {.length = 0}, *place = NULL;
    int64_t count = 0;
    tulle_status status = post(comm, letter, first, &block);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size, sizeof *place, "places", &place);
    TULLE_TRY(tulle_comm_agree(comm, status));
    status = tulle_comm_allgather(comm, &block, sizeof block, place);
    for (int r = 0; r < comm->size && status == TULLE_OK; r++) {
        from[r] = count;
        status = fetch(comm, &place[r], got, &count);
        from[r + 1] = count;
    }
    status = tulle_comm_agree(comm, status); /* nobody reads the blocks any more */
out:
    if (block.length) tulle__heap_give(comm->pe->data, &block);
    tulle__free(place);
    return status;
}
