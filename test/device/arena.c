/* SPDX-License-Identifier: Apache-2.0 */
/* An arena over memory of the host that is counted: blocks that come and go, what it may hold, a steady state without
 * calls, gaps, pieces that fail, and refusals with figures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/device_arena.h"
#include "tap.h"

enum { ALIGN = TULLE__EXTENT_ALIGN, KILO = 1024, BLOCKS = 64, ROUNDED = BLOCKS * 2 * ALIGN };

/* A device: what it has taken, and which of its calls fails (-1: none; -2: all). */
struct model {
    size_t held, memory, bytes[256];
    void *piece[256];
    int64_t takes, gives, fails_at;
    int npieces, bad;
};

static tulle_status take_piece(void *context, size_t bytes, const char *what, void **piece)
{
    struct model *m = context;
    const int fails = m->fails_at == -2 || m->fails_at == m->takes;
    m->takes++;
    if (fails || m->npieces == 256 || bytes > m->memory - m->held)
        return tulle__fail(TULLE_ERR_MEMORY, "%s: the model has no memory", what);
    *piece = aligned_alloc(ALIGN, bytes);
    m->bad += !*piece || bytes % ALIGN != 0;
    m->bytes[m->npieces] = bytes;
    m->piece[m->npieces++] = *piece;
    m->held += bytes;
    return TULLE_OK;
}

static void give_piece(void *context, void *piece)
{
    struct model *m = context;
    int i = 0;
    while (i < m->npieces && m->piece[i] != piece) i++;
    m->gives++;
    if (i == m->npieces) {
        m->bad++;
        return;
    }
    m->held -= m->bytes[i];
    m->npieces--;
    m->piece[i] = m->piece[m->npieces];
    m->bytes[i] = m->bytes[m->npieces];
    free(piece);
}

static const tulle__device_arena_ops *const calls = &tulle__device_arena_calls;

static tulle__device_arena_source source_of(struct model *m, size_t least)
{
    return (tulle__device_arena_source){.take = take_piece, .give = give_piece, .context = m, .least = least};
}

static tulle__device_arena *new_arena(void)
{
    tulle__device_arena *arena = NULL;
    ok(calls->make(&arena) == TULLE_OK, "an arena");
    return arena;
}

/* 1: the bytes are in a piece, and are none of another block's. */
static int is_own(
    const struct model *m, const tulle__device_arena_block *block, const tulle__device_arena_block *others, int n)
{
    const char *at = block->memory;
    int inside = 0;
    for (int i = 0; i < m->npieces; i++) {
        const char *piece = m->piece[i];
        inside += at >= piece && at + block->bytes < piece + m->bytes[i]; /* with bytes behind it */
    }
    for (int i = 0; i < n; i++) {
        const char *other = others[i].memory;
        if (&others[i] != block && other && at < other + others[i].bytes + 1 && other < at + block->bytes + 1) return 0;
    }
    return inside == 1 && (uintptr_t)at % ALIGN == 0;
}

/* Random blocks of at most `capacity` bytes in all: the arena never holds more than that, what gaps may cost, and what
 * blocks are rounded up by. */
static void test_random(size_t least, size_t capacity, size_t spare, uint64_t seed)
{
    struct model m = {.memory = SIZE_MAX, .fails_at = -1};
    const tulle__device_arena_source source = source_of(&m, least);
    tulle__device_arena *arena = new_arena();
    tulle__device_arena_block block[BLOCKS] = {{.memory = NULL}};
    size_t sum = 0, most = 0, held, used;
    int64_t refused = 0, taken = 0;
    int bad = 0;
    for (int i = 0; i < 6000; i++) {
        const int at = (int)(tulle__random_at(seed, 0, (uint64_t)i) % BLOCKS);
        size_t bytes = (size_t)(tulle__random_at(seed, 1, (uint64_t)i) % (capacity / 8));
        if (tulle__random_at(seed, 2, (uint64_t)i) % 3 == 0) bytes %= 700;
        if (block[at].memory) {
            sum -= block[at].bytes;
            calls->give(arena, &source, &block[at]);
            block[at].memory = NULL;
        } else if (bytes <= capacity - sum) {
            tulle_status status =
                calls->take(arena, &source, bytes, capacity - sum - bytes, spare, "a block", &block[at]);
            bad += status != TULLE_OK && (status != TULLE_ERR_LIMIT || !strstr(tulle_error_message(), "a block"));
            refused += status != TULLE_OK;
            taken += status == TULLE_OK;
            if (status == TULLE_OK) {
                sum += bytes;
                bad += !is_own(&m, &block[at], block, BLOCKS);
                memset(block[at].memory, i, bytes);
                calls->sizes(arena, &held, &used);
                bad += held != m.held || used < sum || held > capacity + spare + ROUNDED;
            }
        }
        if (sum > most) most = sum;
    }
    ok(bad == 0 && m.bad == 0 && taken > 1000, "%" PRId64 " blocks of pieces from %zu bytes: %d bad", taken, least,
        bad);
    ok(least ? m.takes < taken / 4 : m.takes == taken, "%" PRId64 " calls for memory", m.takes);
    ok(refused * 50 <= taken, "gaps refuse few: %" PRId64 " (%zu bytes at most in use of %zu)", refused, most,
        capacity);
    for (int b = 0; b < BLOCKS; b++)
        if (block[b].memory) calls->give(arena, &source, &block[b]);
    calls->sizes(arena, &held, &used);
    ok(used == 0 && held == m.held && (least || held == 0), "none in use, %zu bytes held", held);
    ok(calls->trim(arena, &source) == (held > 0) && m.held == 0, "idle pieces go back");
    calls->free(arena, &source);
}

/* The same blocks again and again, in an order of their own, take no piece behind the first time. */
static void test_steady(void)
{
    enum { CAPACITY = 4000 * KILO, TIMES = 20 };
    struct model m = {.memory = SIZE_MAX, .fails_at = -1};
    const tulle__device_arena_source source = source_of(&m, 64 * KILO);
    tulle__device_arena *arena = new_arena();
    tulle__device_arena_block block[BLOCKS];
    int64_t first = 0;
    int bad = 0;
    for (int time = 0; time < TIMES; time++) {
        size_t sum = 0;
        for (int b = 0; b < BLOCKS; b++) {
            size_t bytes = (size_t)(tulle__random_at(5, 0, (uint64_t)b) % (50 * KILO));
            sum += bytes;
            bad += calls->take(arena, &source, bytes, CAPACITY - sum, KILO, "a block", &block[b]) != TULLE_OK;
        }
        for (int b = 0; b < BLOCKS; b++) calls->give(arena, &source, &block[(b * 7 + time) % BLOCKS]);
        if (time == 0) first = m.takes;
    }
    ok(bad == 0 && first > 2 && m.takes == first && m.gives == 0,
        "a steady state takes none: %" PRId64 " pieces, then %" PRId64, first, m.takes - first);
    calls->free(arena, &source);
    ok(m.held == 0 && m.bad == 0, "all go back with the arena");
}

/* Idle pieces make room for a block that does not fit; then it is refused, with figures. */
static void test_limits(void)
{
    struct model m = {.memory = SIZE_MAX, .fails_at = -1};
    const tulle__device_arena_source source = source_of(&m, 11 * KILO);
    tulle__device_arena *arena = new_arena();
    tulle__device_arena_block small[8], large;
    size_t held, used;
    int bad = 0;
    for (int i = 0; i < 8; i++)
        bad += calls->take(arena, &source, 5 * KILO, (size_t)(7 - i) * 5 * KILO, 8 * KILO, "a tile", &small[i]) !=
               TULLE_OK;
    calls->sizes(arena, &held, &used);
    ok(bad == 0 && held <= 50 * KILO, "8 blocks of 5 KiB in %zu bytes", held);
    for (int i = 0; i < 8; i += 2) calls->give(arena, &source, &small[i]);
    ok(calls->take(arena, &source, 20 * KILO, 0, 2 * KILO, "a large tile", &large) == TULLE_ERR_LIMIT &&
            strstr(tulle_error_message(), "a large tile: ") && strstr(tulle_error_message(), "longest free extent") &&
            strstr(tulle_error_message(), "grow by"),
        "gaps do not make a block: %s", tulle_error_message());
    for (int i = 1; i < 8; i += 2) calls->give(arena, &source, &small[i]);
    ok(calls->take(arena, &source, 30 * KILO, 10 * KILO, 2 * KILO, "a large tile", &large) == TULLE_OK && m.gives > 0,
        "without blocks they do: %" PRId64 " pieces went back", m.gives);
    calls->sizes(arena, &held, &used);
    ok(held == m.held && held <= 43 * KILO, "%zu bytes are held then", held);
    ok(calls->take(arena, &source, SIZE_MAX, 0, 0, "far too much", &large) == TULLE_ERR_LIMIT, "%s",
        tulle_error_message());
    calls->free(arena, &source);
}

/* Memory of the device fails: once, where less would do, or for good. Own memory of the arena fails. */
static void test_failures(void)
{
    struct model m = {.memory = 100 * KILO, .fails_at = 0};
    const tulle__device_arena_source source = source_of(&m, 64 * KILO);
    tulle__device_arena *arena = new_arena();
    tulle__device_arena_block block[3];
    ok(calls->take(arena, &source, 4 * KILO, 90 * KILO, 0, "a block", &block[0]) == TULLE_OK && m.held < 5 * KILO,
        "less is asked for when a piece fails: %zu bytes", m.held);
    m.fails_at = -2;
    ok(calls->take(arena, &source, 8 * KILO, 80 * KILO, 0, "X", &block[1]) == TULLE_ERR_MEMORY &&
            strstr(tulle_error_message(), "X: the model has no memory") && strstr(tulle_error_message(), "are in use"),
        "then it is refused: %s", tulle_error_message());
    m.fails_at = -1;
    ok(calls->take(arena, &source, 8 * KILO, 80 * KILO, 0, "X", &block[1]) == TULLE_OK, "the next try has it");
    calls->give(arena, &source, &block[1]);
    ok(calls->take(arena, &source, 90 * KILO, 0, 8 * KILO, "Y", &block[2]) == TULLE_OK && m.gives == 1,
        "idle pieces go back where the device has no more");
    calls->free(arena, &source);
    int refused = 0, bad = 0;
    tulle__account *before = tulle__account_enter(NULL), *process = tulle__account_current();
    for (int64_t n = 0;; n++) {
        struct model own = {.memory = SIZE_MAX, .fails_at = -1};
        const tulle__device_arena_source its = source_of(&own, 1);
        tulle__account_fail_after(process, n);
        tulle_status status = calls->make(&arena);
        if (status == TULLE_OK) {
            status = calls->take(arena, &its, 100, KILO, 0, "a block", &block[0]);
            tulle__account_fail_after(process, -1);
            bad += calls->take(arena, &its, 100, KILO, 0, "a block", &block[1]) != TULLE_OK;
            calls->free(arena, &its);
        }
        tulle__account_fail_after(process, -1);
        bad += own.held != 0 || own.bad;
        if (status == TULLE_OK) break;
        refused += status == TULLE_ERR_MEMORY;
    }
    tulle__account_enter(before);
    ok(refused >= 3 && !bad, "memory of its own that fails is told %d times, and nothing is left (%d bad)", refused,
        bad);
}

int main(void)
{
    test_random(16 * KILO, 1000 * KILO, 500 * KILO, 1);
    test_random(KILO, 400 * KILO, 200 * KILO, 2);
    test_random(0, 400 * KILO, 200 * KILO, 3);
    test_random(100 * KILO, 1000 * KILO, 1000 * KILO, 4);
    test_steady();
    test_limits();
    test_failures();
    return tap_done();
}
