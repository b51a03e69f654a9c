/* SPDX-License-Identifier: Apache-2.0 */
/* All-to-all exchange of messages of any length, empty ones included. For conformance.c alone. */
#ifndef TULLE_TEST_ALL_TO_ALL_H
#define TULLE_TEST_ALL_TO_ALL_H

#include <string.h>

#include "base/random.h"
#include "body.h"
#include "comm/alltoallv.h"
#include "tap.h"

/* Words of the message from PE a to PE b in a round: none in round 0, few or many later. */
static int64_t message_words(int round, int a, int b)
{
    uint64_t drawn = tulle__random_at((uint64_t)round, (uint64_t)a, (uint64_t)b);
    return round == 0 || drawn % 3 == 0 ? 0 : (int64_t)(drawn % (drawn % 5 == 1 ? 20000 : 40));
}

static int64_t message_word(int round, int a, int b, int64_t w)
{
    return ((int64_t)round * 1000 + a * 32 + b) * 100000 + w;
}

static tulle_status write_messages(tulle_comm *comm, int round, tulle__alltoallv *x)
{
    for (int r = 0; r < comm->size; r++) {
        int64_t words = message_words(round, comm->rank, r);
        for (int64_t w = 0; w < words;) { /* appends in pieces */
            int64_t piece = words - w < 7 ? words - w : 7;
            char *at;
            tulle_status status = tulle__alltoallv_reserve(x, r, (size_t)piece * sizeof w, &at);
            if (status != TULLE_OK) return status;
            for (int64_t p = 0; p < piece; p++, w++) {
                int64_t word = message_word(round, comm->rank, r, w);
                memcpy(at + (size_t)p * sizeof word, &word, sizeof word);
            }
            tulle__alltoallv_written(x, r, (size_t)piece * sizeof w);
        }
    }
    return TULLE_OK;
}

static tulle_status test_all_to_all(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    for (int round = 0; round < 5 && status == TULLE_OK; round++) {
        tulle__alltoallv *x = NULL;
        size_t sum = 0;
        int wrong = 0;
        status = tulle__alltoallv_new(comm, &x);
        if (status == TULLE_OK) status = write_messages(comm, round, x);
        status = tulle_comm_agree(comm, status);
        if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle__alltoallv_exchange(x));
        if (status == TULLE_OK) tulle__alltoallv_release(x);
        for (int r = 0; status == TULLE_OK && r < comm->size; r++) {
            size_t bytes;
            const int64_t *word = (const int64_t *)(const void *)tulle__alltoallv_from(x, r, &bytes);
            int64_t words = message_words(round, r, comm->rank);
            sum += bytes;
            wrong += bytes != (size_t)words * sizeof *word;
            for (int64_t w = 0; !wrong && w < words; w++) wrong += word[w] != message_word(round, r, comm->rank, w);
        }
        if (status == TULLE_OK && (wrong || sum != tulle__alltoallv_bytes(x)))
            status = tulle__fail(TULLE_ERR_CHECK, "round %d: a message is not what was sent", round);
        tulle__alltoallv_free(x);
    }
    return status;
}

#endif
