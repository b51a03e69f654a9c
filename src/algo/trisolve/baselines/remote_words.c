/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/baselines/remote_words.h"

#include <string.h>

enum { TRIES = 1 << 24 }; /* a link that refuses compare-and-swap reports that at the next wait */

uint64_t tulle__word_sum(tulle__word_kind kind, uint64_t a, uint64_t b)
{
    float x, y;
    double u, v;
    uint32_t half = (uint32_t)a, other = (uint32_t)b;
    switch (kind) {
    case TULLE__WORD_F32:
        memcpy(&x, &half, sizeof x);
        memcpy(&y, &other, sizeof y);
        x += y;
        memcpy(&half, &x, sizeof half);
        return half;
    case TULLE__WORD_F64:
        memcpy(&u, &a, sizeof u);
        memcpy(&v, &b, sizeof v);
        u += v;
        memcpy(&a, &u, sizeof a);
        return a;
    default:
        return a + b;
    }
}

/*
 * True if page faults cost virtual time: those of many threads are served together if they make one
 * access.
 */
static int faults_together(const tulle_comm *comm)
{
    return tulle__is_virtual(comm) && comm->pe->link->faults;
}

/*
 * In virtual time PEs run one at a time, so a get reads whole words: a get for each, like a thread,
 * or, where pages migrate, one for all. Elsewhere a get need not be atomic with respect to
 * additions, so each word is an atomic load.
 */
void tulle__words_read(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range)
{
    int is_virtual = tulle__is_virtual(comm);
    if (faults_together(comm)) {
        tulle__getv(comm, group, place, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            char *to = (char *)range[i].local + at;
            if (is_virtual) {
                tulle__get(comm, group, place, range[i].at + at, to, sizeof(uint64_t));
                continue;
            }
            uint64_t word = tulle__load(comm, place, range[i].at + at);
            memcpy(to, &word, sizeof word);
        }
}

/* was: the word as read before. */
static void add_word(
    tulle_comm *comm, const tulle__place *place, uint64_t at, tulle__word_kind kind, uint64_t value, uint64_t was)
{
    if (kind == TULLE__WORD_INT) {
        (void)tulle__fetch_add(comm, place, at, value);
        return;
    }
    for (int tries = 0; tries < TRIES; tries++) {
        uint64_t is = tulle__compare_swap(comm, place, at, was, tulle__word_sum(kind, was, value));
        if (is == was) return;
        was = is;
    }
}

/*
 * Reals are read first, as compare-and-swap needs the old value. Where pages migrate integers are
 * read too, which brings the pages of all words here together.
 */
tulle_status tulle__words_add(tulle_comm *comm, int group, const tulle__place *place, tulle__word_kind kind, int n,
    const tulle__range *range, const tulle__range *read)
{
    int is_read = kind != TULLE__WORD_INT || faults_together(comm);
    if (is_read) {
        tulle__words_read(comm, group, place, n, read);
        TULLE_CALL(tulle__wait(comm, group));
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            uint64_t value, was = 0;
            memcpy(&value, (const char *)range[i].local + at, sizeof value);
            if (is_read) memcpy(&was, (const char *)read[i].local + at, sizeof was);
            add_word(comm, place, range[i].at + at, kind, value, was);
        }
    return tulle__wait(comm, group); /* returns an error of the atomics */
}
