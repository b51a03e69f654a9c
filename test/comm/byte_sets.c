/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of bytes: adding and removing, compared with an array of flags. */
#include "comm/byte_set.h"

#include <string.h>

#include "base/random.h"
#include "tap.h"

enum { SPACE = 300, ROUNDS = 200000 };

/* Ranges ascend with gaps, and match the flags and the count. */
static int agrees(const tulle__byte_set *set, const char *flag)
{
    char found[SPACE] = {0};
    uint64_t bytes = 0, longest = 0;
    for (int64_t i = 0; i < set->n; i++) {
        tulle__byte_range r = set->range[i];
        if (r.from >= r.to || r.to > SPACE || (i && r.from <= set->range[i - 1].to)) return 0;
        memset(found + r.from, 1, r.to - r.from);
        bytes += r.to - r.from;
        if (r.to - r.from > longest) longest = r.to - r.from;
    }
    if (set->n) {
        const tulle__byte_range *r = tulle__byte_set_longest(set);
        if (r->to - r->from != longest) return 0;
    }
    return bytes == set->bytes && memcmp(found, flag, SPACE) == 0;
}

struct pair {
    tulle__byte_set set, other;
    char flag[SPACE], moved[SPACE];
};

/* Removes [from, to) or moves it to the other set; then adds all of it, or not. */
static int one_round(struct pair *p, uint64_t from, uint64_t to, int move, int add)
{
    uint64_t overlap = 0;
    for (uint64_t i = from; i < to; i++) overlap += (uint64_t)p->flag[i];
    if (tulle__byte_set_overlap(&p->set, from, to) != overlap) return 0;
    if (tulle__byte_set_reserve(&p->set, 2) != TULLE_OK) return 0;
    if (tulle__byte_set_reserve(&p->other, p->set.n + 2) != TULLE_OK) return 0;
    if (move) {
        tulle__byte_set_remove(&p->other, from, to);
        memcpy(p->moved + from, p->flag + from, to - from);
        tulle__byte_set_move(&p->set, &p->other, from, to);
    } else {
        tulle__byte_set_remove(&p->set, from, to);
    }
    memset(p->flag + from, 0, to - from);
    if (!agrees(&p->set, p->flag) || !agrees(&p->other, p->moved)) return 0;
    if (!add) return 1;
    tulle__byte_set_add(&p->set, from, to);
    memset(p->flag + from, 1, to - from);
    return agrees(&p->set, p->flag);
}

int main(void)
{
    struct pair p = {.flag = {0}};
    int right = agrees(&p.set, p.flag);
    ok(right, "the empty set");
    for (uint64_t round = 0; right && round < ROUNDS; round++) {
        uint64_t draw = tulle__random_at(7, 0, round);
        uint64_t most = draw >> 60 ? 20 : SPACE, from = (draw & 0xffff) % SPACE,
                 to = from + (draw >> 16 & 0xffff) % most;
        right = one_round(&p, from, to < SPACE ? to : SPACE, draw >> 32 & 1, draw >> 33 & 1);
    }
    ok(right, "%d times adding, removing and moving, as arrays of flags have it", ROUNDS);
    ok(p.set.n > 3 && p.other.n > 3, "not all in one range: %d and %d", (int)p.set.n, (int)p.other.n);
    tulle__byte_set_free(&p.set);
    tulle__byte_set_free(&p.other);
    ok(p.set.n == 0 && p.set.bytes == 0, "empty again");
    return tap_done();
}
