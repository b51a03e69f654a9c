/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/link.h"

#include <string.h>

#include "base/clock.h"

int64_t tulle__link_now(const tulle__link *link)
{
    return link->virtual_time ? link->virtual_time->now_ns(link->clock) : tulle__clock_ns();
}

void tulle__link_getw(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    if (link->ops->getw) {
        link->ops->getw(link, group, place, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            uint64_t word = link->ops->load(link, place, range[i].at + at);
            memcpy((char *)range[i].local + at, &word, sizeof word);
        }
}

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

/* Few engines add reals: the word is exchanged for its sum until nobody else has come in between. */
static void add_word(tulle__link *link, const tulle__place *place, uint64_t at, tulle__word_kind kind, uint64_t value)
{
    enum { TRIES = 1 << 24 }; /* who is refused by a wrapper learns of it at the next wait */
    if (kind == TULLE__WORD_INT) {
        (void)link->ops->fetch_add(link, place, at, value);
        return;
    }
    uint64_t was = link->ops->load(link, place, at);
    for (int tries = 0; tries < TRIES; tries++) {
        uint64_t is = link->ops->compare_swap(link, place, at, was, tulle__word_sum(kind, was, value));
        if (is == was) return;
        was = is;
    }
}

void tulle__link_addw(
    tulle__link *link, int group, const tulle__place *place, tulle__word_kind kind, int n, const tulle__range *range)
{
    if (link->ops->addw) {
        link->ops->addw(link, group, place, kind, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            uint64_t value;
            memcpy(&value, (const char *)range[i].local + at, sizeof value);
            add_word(link, place, range[i].at + at, kind, value);
        }
}

tulle_status tulle__link_put_signal(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value)
{
    if (link->ops->put_signal) return link->ops->put_signal(link, place, at, local, bytes, word, word_at, value);
    int group = TULLE__GROUPS - 1; /* kept free for this */
    uint64_t count = link->ops->put(link, group, place, at, local, bytes);
    tulle_status status = link->ops->wait(link, group, count);
    if (status == TULLE_OK) link->ops->store(link, word, word_at, value);
    return status;
}
