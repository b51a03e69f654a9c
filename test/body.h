/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of bodies that test programs run on a team. */
#ifndef TULLE_TEST_BODY_H
#define TULLE_TEST_BODY_H

#include "base/error.h"
#include "base/memory.h"
#include "comm/comm.h"

/* A condition inside a body with a `status` and a label `out`: the body fails with the place. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            status = tulle__fail(TULLE_ERR_CHECK, "%s:%d: %s", __FILE__, __LINE__, #condition);                        \
            goto out;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Blocks alive, of a PE. */
struct blocks {
    int64_t data, control, account;
};

/* A body: blocks[rank] of each PE, once it has made a transfer: what a wrapper keeps for these stays. */
__attribute__((unused)) static tulle_status count_blocks(tulle_comm *comm, void *arg)
{
    uint64_t word;
    tulle__place place;
    int group = tulle__comm_group(comm);
    tulle_status status = tulle__heap_take(comm->pe->data, sizeof word, "a word", &place);
    if (status != TULLE_OK) return status;
    tulle__get(comm, group, &place, 0, &word, sizeof word);
    status = tulle__wait(comm, group);
    tulle__heap_give(comm->pe->data, &place);
    ((struct blocks *)arg)[tulle_comm_rank(comm)] = (struct blocks){tulle__heap_blocks(comm->pe->data),
        tulle__heap_blocks(comm->pe->control), tulle__account_blocks(comm->pe->account)};
    return status;
}

/* Collective: fails unless all PEs pass the same status. */
__attribute__((unused)) static tulle_status same_everywhere(tulle_comm *comm, tulle_status status)
{
    int64_t same[2] = {status, -(int64_t)status};
    tulle_status meet = tulle_comm_reduce_int(comm, TULLE_MAX, 2, same);
    if (meet == TULLE_OK && same[0] != -same[1])
        meet = tulle__fail(TULLE_ERR_CHECK, "PEs differ: %d and %d", (int)same[0], (int)-same[1]);
    return meet;
}

#endif
