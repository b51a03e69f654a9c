/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of an arena beside a map of its granules: random ones that come and go, the best fit, limits, generations,
 * memory that fails. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/extents.h"
#include "tap.h"

enum { ALIGN = TULLE__EXTENT_ALIGN, GRANULES = 512, MOST = GRANULES };

struct model {
    int owner[GRANULES]; /* number of the block, or 0 */
    tulle__extent block[MOST];
    int nblocks;
};

static int64_t granules_of(uint64_t bytes)
{
    return (int64_t)(bytes ? (bytes + ALIGN - 1) / ALIGN : 1);
}

/* Marks the granules of a block; returns how many were another's, or are none of the arena's. */
static int mark(struct model *m, const tulle__extent *block, int from, int to)
{
    int bad = block->offset % ALIGN != 0;
    int64_t first = (int64_t)(block->offset / ALIGN), n = granules_of(block->bytes);
    for (int64_t g = first; g < first + n; g++) {
        if (g >= GRANULES || m->owner[g] != from)
            bad++;
        else
            m->owner[g] = to;
    }
    return bad;
}

/* Free granules next to each other, and the shortest such run of at least `least`, by the map. */
static int64_t runs(const struct model *m, int64_t least, int64_t *best)
{
    int64_t longest = 0;
    *best = -1;
    for (int64_t g = 0; g < GRANULES;) {
        int64_t n = 0;
        while (g + n < GRANULES && !m->owner[g + n]) n++;
        if (n > longest) longest = n;
        if (n >= least && (*best < 0 || n < *best)) *best = n;
        g += n ? n : 1;
    }
    return longest;
}

static int64_t in_use(const struct model *m)
{
    int64_t n = 0;
    for (int g = 0; g < GRANULES; g++) n += m->owner[g] != 0;
    return n;
}

/* Free granules from that one on. */
static int64_t run_at(const struct model *m, uint64_t offset)
{
    int64_t first = (int64_t)(offset / ALIGN), g = first;
    while (g > 0 && !m->owner[g - 1]) g--;
    if (g != first) return -1; /* a block begins where a run does */
    while (g < GRANULES && !m->owner[g]) g++;
    return g - first;
}

static int take(tulle__extents *e, struct model *m, uint64_t bytes, uint64_t *newest)
{
    tulle__extent block;
    int64_t best, longest = runs(m, granules_of(bytes), &best);
    tulle_status status = tulle__extents_take(e, bytes, "a block", &block);
    if (status != TULLE_OK) return status != TULLE_ERR_LIMIT || best >= 0 || !*tulle_error_message();
    int bad = best < 0 || block.bytes != bytes || block.generation <= *newest || longest < granules_of(bytes);
    bad += run_at(m, block.offset) != best;
    *newest = block.generation;
    m->block[m->nblocks++] = block;
    return bad + mark(m, &block, 0, m->nblocks);
}

/* The last block takes the number of the one that goes. */
static int give(tulle__extents *e, struct model *m, int at)
{
    const tulle__extent gone = m->block[at];
    int bad = !tulle__extents_holds(e, &gone) + !tulle__extents_give(e, &gone);
    bad += tulle__extents_holds(e, &gone) + tulle__extents_give(e, &gone); /* it is stale now */
    bad += mark(m, &gone, at + 1, 0);
    const tulle__extent last = m->block[--m->nblocks];
    if (at == m->nblocks) return bad;
    m->block[at] = last;
    return bad + mark(m, &last, m->nblocks + 1, at + 1);
}

static void test_random(uint64_t seed, uint64_t largest)
{
    struct model m = {.nblocks = 0};
    tulle__extents *e = NULL;
    uint64_t newest = 0, odd = seed % ALIGN;
    int64_t best, bad = 0, refused = 0;
    ok(tulle__extents_new(GRANULES * ALIGN + odd, &e) == TULLE_OK, "an arena");
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t x = tulle__random_at(seed, 1, i), y = tulle__random_at(seed, 2, i);
        const int fills = (i / 1000) % 2 == 0; /* it fills up, and becomes empty, in turn */
        if (m.nblocks && tulle__random_below(x, 10) < (fills ? 4 : 6)) {
            bad += give(e, &m, (int)tulle__random_below(y, (uint64_t)m.nblocks));
        } else {
            const int before = m.nblocks;
            bad += take(e, &m, tulle__random_below(y, largest), &newest);
            refused += m.nblocks == before;
        }
        bad += tulle__extents_used(e) != (uint64_t)in_use(&m) * ALIGN || tulle__extents_blocks(e) != m.nblocks;
        bad += tulle__extents_longest(e) != (uint64_t)runs(&m, 1, &best) * ALIGN;
    }
    ok(bad == 0 && refused > 10, "seed %" PRIu64 ", up to %" PRIu64 " bytes: %" PRId64 " are refused, %" PRId64 " bad",
        seed, largest, refused, bad);
    while (m.nblocks) bad += give(e, &m, m.nblocks / 2);
    ok(bad == 0 && tulle__extents_longest(e) == GRANULES * ALIGN && tulle__extents_used(e) == 0,
        "all is one free extent in the end");
    tulle__extents_free(e);
}

static void test_limits(void)
{
    tulle__extents *e = NULL, *none = NULL;
    tulle__extent block = {.offset = 7}, all;
    ok(tulle__extents_new(10 * ALIGN, &e) == TULLE_OK && tulle__extents_new(ALIGN - 1, &none) == TULLE_OK, "arenas");
    ok(tulle__extents_take(none, 0, "nothing", &block) == TULLE_ERR_LIMIT && block.offset == 7,
        "one without a granule has no block: %s", tulle_error_message());
    ok(tulle__extents_take(e, UINT64_MAX, "a matrix", &block) == TULLE_ERR_LIMIT &&
            strstr(tulle_error_message(), "a matrix: ") && strstr(tulle_error_message(), "2560 bytes"),
        "more than there can be: %s", tulle_error_message());
    ok(tulle__extents_take(e, 10 * ALIGN, "all", &all) == TULLE_OK && all.offset == 0, "all of it");
    ok(tulle__extents_take(e, 0, "nothing", &block) == TULLE_ERR_LIMIT, "then no byte: %s", tulle_error_message());
    tulle__extent wrong[] = {all, all, all, {0}};
    wrong[0].offset += ALIGN;
    wrong[1].bytes--;
    wrong[2].generation++;
    int bad = 0;
    for (int i = 0; i < 4; i++) bad += tulle__extents_give(e, &wrong[i]) || tulle__extents_holds(e, &wrong[i]);
    ok(bad == 0 && tulle__extents_used(e) == 10 * ALIGN, "what is none of its blocks is not freed");
    ok(tulle__extents_give(e, &all) && tulle__extents_take(e, 10 * ALIGN, "all", &block) == TULLE_OK &&
            block.offset == all.offset && !tulle__extents_holds(e, &all),
        "a block in the place of another has another generation");
    tulle__extents_free(e);
    tulle__extents_free(none);
    tulle__extents_free(NULL);
}

/* Allocations that fail leave what was there. */
static void test_memory(void)
{
    tulle__account *account = tulle__account_new(0), *before = tulle__account_enter(account);
    tulle__extents *e = NULL;
    int refused = 0, bad = 0;
    for (int64_t n = 0; !e; n++) {
        tulle__account_fail_after(account, n);
        refused += tulle__extents_new(1000 * ALIGN, &e) == TULLE_ERR_MEMORY;
        bad += !e && tulle__account_blocks(account) != 0;
    }
    for (int i = 0; i < 1000; i++) {
        tulle__extent block;
        tulle__account_fail_after(account, 0);
        tulle_status status = tulle__extents_take(e, 1, "a block", &block);
        tulle__account_fail_after(account, -1);
        if (status == TULLE_OK) continue;
        refused++;
        bad += status != TULLE_ERR_MEMORY || tulle__extents_blocks(e) != i;
        bad += tulle__extents_take(e, 1, "a block", &block) != TULLE_OK || block.offset != (uint64_t)i * ALIGN;
    }
    ok(refused >= 4 && !bad && tulle__extents_used(e) == 1000 * ALIGN, "%d failures, %d bad", refused, bad);
    tulle__extents_free(e);
    ok(tulle__account_blocks(account) == 0, "nothing is left");
    tulle__account_enter(before);
    tulle__account_free(account);
}

int main(void)
{
    test_limits();
    test_memory();
    for (uint64_t seed = 1; seed <= 3; seed++) {
        test_random(seed, 4 * ALIGN);
        test_random(seed, GRANULES * ALIGN / 8);
    }
    return tap_done();
}
