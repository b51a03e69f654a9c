/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a segment: blocks do not overlap and keep their contents. Resident pages, as the
 * system counts them, stay within the account's limit after any allocation or release. Pinned
 * segments keep their pages. A segment without access is claimed as it fills, within the limit of data.
 */
#define _DEFAULT_SOURCE
#include "comm/heap.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/random.h"
#include "tap.h"

enum { PAGE = 4096, SEGMENT = 256 << 20, LIMIT = 32 << 20, BLOCKS = 128, ROUNDS = 6000 };

static char *segment;

static void *mapped(tulle__link *link, int rank, int which)
{
    (void)link, (void)rank, (void)which;
    return segment;
}

static const tulle__link_ops ops = {.mapped = mapped};

static size_t resident(void)
{
    static unsigned char page[SEGMENT / PAGE];
    size_t n = 0;
    if (mincore(segment, SEGMENT, page) != 0) return SIZE_MAX;
    for (size_t i = 0; i < SEGMENT / PAGE; i++) n += page[i] & 1;
    return n * PAGE;
}

struct block {
    tulle__place place;
    size_t bytes, committed; /* bytes 0: none */
    unsigned char fill;
};

static char *at(const struct block *b)
{
    return segment + b->place.offset;
}

static int holds(const struct block *b)
{
    for (size_t i = 0; i < b->committed; i++)
        if ((unsigned char)at(b)[i] != b->fill) return 0;
    return 1;
}

/* Sizes from a few bytes to some megabytes, log-uniform. */
static size_t draw_size(uint64_t draw)
{
    size_t most = (size_t)1 << (4 + draw % 19);
    return most / 2 + (draw >> 8) % most;
}

/* Allocates, grows or frees one block. Returns 0 if its contents changed. */
static int one_round(tulle__heap *heap, struct block *b, uint64_t draw, int *refused)
{
    tulle_status status = TULLE_OK;
    if (!b->bytes) {
        size_t bytes = draw_size(draw >> 16), committed = draw >> 7 & 1 ? bytes : bytes / 3;
        status = tulle__heap_reserve(heap, bytes, committed, "a block", &b->place);
        if (status == TULLE_OK) {
            *b = (struct block){b->place, bytes, committed, (unsigned char)(draw >> 40)};
            memset(at(b), b->fill, committed);
        }
    } else if (b->committed < b->bytes && draw >> 7 & 1) {
        status = tulle__heap_commit(heap, &b->place, b->bytes, "a block");
        if (status == TULLE_OK) {
            memset(at(b) + b->committed, b->fill, b->bytes - b->committed);
            b->committed = b->bytes;
        }
    } else if (b->committed == b->bytes && b->bytes > 200 && draw >> 9 & 1) { /* keeps its middle */
        size_t front = (draw >> 12) % (b->bytes / 2) / 64 * 64, bytes = b->bytes / 2 - (draw >> 20) % 100;
        status = tulle__heap_trim(heap, &b->place, front, bytes);
        if (status == TULLE_OK) b->bytes = b->committed = bytes;
    } else {
        if (!holds(b)) return 0;
        if (draw >> 8 & 7)
            tulle__heap_give(heap, &b->place);
        else
            tulle__heap_discard(heap, &b->place);
        b->bytes = 0;
    }
    *refused += status != TULLE_OK;
    return status == TULLE_OK || status == TULLE_ERR_LIMIT;
}

/* The most resident pages; the account's use never exceeds its limit. */
static size_t churn(tulle__heap *heap, tulle__account *account, int *right, int *refused)
{
    static struct block block[BLOCKS];
    size_t most = 0;
    memset(block, 0, sizeof block);
    *right = 1;
    *refused = 0;
    for (uint64_t round = 0; *right && round < ROUNDS; round++) {
        uint64_t draw = tulle__random_at(3, 0, round);
        *right = one_round(heap, &block[draw % BLOCKS], draw, refused);
        *right &= tulle__account_used(account) <= LIMIT;
        size_t now = round % 16 ? 0 : resident();
        if (now > most) most = now;
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (!block[i].bytes) continue;
        *right &= holds(&block[i]);
        tulle__heap_give(heap, &block[i].place);
    }
    *right &= tulle__heap_blocks(heap) == 0 && tulle__heap_used(heap) == 0;
    return most;
}

static void map_segment(int access)
{
    segment = mmap(NULL, SEGMENT, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Bytes of this process that the limit of data counts. */
static size_t data_bytes(void)
{
    char line[256];
    size_t kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmData: %zu", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes * 1024;
}

/* Blocks of 8 MB until the heap has none, or `most` of them. */
static int take_all(tulle__heap *heap, tulle__place *place, int most, tulle_status *status)
{
    int taken = 0;
    *status = TULLE_OK;
    while (taken < most && *status == TULLE_OK) {
        *status = tulle__heap_take(heap, 8 << 20, "a block", &place[taken]);
        if (*status != TULLE_OK) break;
        memset(segment + place[taken].offset, 1, 8 << 20);
        taken++;
    }
    return taken;
}

/* Memory that the segment has claimed: a little at first, what is in use later, and no more than a limit lets it. */
static void test_claims(void)
{
    enum { MOST = 16, STEP = 32 << 20 };
    tulle__heap *heap;
    tulle__place place[MOST];
    tulle_status status;
    struct rlimit before, limit;
    tulle__link link = {.ops = &ops, .npes = 1, .segment_bytes = {SEGMENT, SEGMENT}, .bare = 1};
    tulle__account *account = tulle__account_new(0);
    const size_t data = data_bytes();
    map_segment(PROT_NONE);
    if (!ok(segment != MAP_FAILED && tulle__heap_new(&link, TULLE__DATA, account, &heap) == TULLE_OK, "a bare segment"))
        return;
    ok(data && data_bytes() < data + STEP, "a segment that is empty is no data");
    int taken = take_all(heap, place, 2, &status);
    ok(taken == 2 && data_bytes() < data + 2 * STEP, "two blocks claim what they need");
    if (getrlimit(RLIMIT_DATA, &before) == 0) {
        limit = (struct rlimit){data_bytes() + 2 * STEP, before.rlim_max};
        ok(setrlimit(RLIMIT_DATA, &limit) == 0, "a limit of data");
        taken += take_all(heap, place + taken, MOST - taken, &status);
        ok(status == TULLE_ERR_MEMORY && taken > 5 && taken < 14 && strstr(tulle_error_message(), "ulimit -d"),
            "%d blocks fit: %s", taken, tulle_error_message());
        tulle__heap_give(heap, &place[--taken]);
        ok(take_all(heap, place + taken, 1, &status) == 1, "what was given is taken again");
        taken++;
        (void)setrlimit(RLIMIT_DATA, &before);
    }
    while (taken) tulle__heap_give(heap, &place[--taken]);
    ok(tulle__heap_blocks(heap) == 0, "nothing is in use");
    tulle__heap_free(heap);
    tulle__account_free(account);
    munmap(segment, SEGMENT);
}

static void test_pages(int pinned)
{
    tulle__heap *heap;
    int right, refused;
    tulle__link link = {.ops = &ops, .npes = 1, .segment_bytes = {SEGMENT, SEGMENT}, .pinned = pinned};
    tulle__account *account = tulle__account_new(LIMIT), *before = tulle__account_enter(account);
    link.bare = !pinned;
    map_segment(link.bare ? PROT_NONE : PROT_READ | PROT_WRITE);
    if (!ok(segment != MAP_FAILED, "a segment")) goto out;
    (void)madvise(segment, SEGMENT, MADV_NOHUGEPAGE); /* one byte makes a whole huge page resident */
    if (!ok(tulle__heap_new(&link, TULLE__DATA, account, &heap) == TULLE_OK, "a heap")) goto out;
    size_t most = churn(heap, account, &right, &refused), after = resident();
    ok(right, "%d blocks come, grow and go: none overlaps another", ROUNDS);
    ok(refused > 0, "some were refused: %d", refused);
    /* the first and last page of each block in use may belong to it alone */
    size_t slack = 2 * BLOCKS * PAGE;
    if (pinned) {
        ok(most > LIMIT + slack, "pinned pages all stay: %.1f MB at most", (double)most / 1e6);
        ok(after > LIMIT / 2 + slack, "also when all blocks are gone: %.1f MB", (double)after / 1e6);
    } else {
        /* pages under partly used blocks cannot be freed */
        ok(most <= LIMIT + LIMIT / 8 + slack, "%.1f MB of pages at most, under a limit of %.1f MB", (double)most / 1e6,
            LIMIT / 1e6);
        ok(after <= LIMIT / 2 + slack, "%.1f MB when all blocks are gone", (double)after / 1e6);
        ok(after > LIMIT / 8, "and not nothing: they serve the next ones");
        void *block;
        ok(tulle__alloc(LIMIT / 8 * 7, 1, "private memory", &block) == TULLE_OK, "private memory comes first:");
        ok(resident() <= LIMIT / 8 + slack, "%.1f MB are left", (double)resident() / 1e6);
        tulle__free(block);
    }
    tulle__heap_free(heap);
out:
    tulle__account_enter(before);
    ok(tulle__account_blocks(account) == 0, "nothing is left");
    tulle__account_free(account);
    if (segment != MAP_FAILED) munmap(segment, SEGMENT);
}

int main(void)
{
    test_pages(0);
    test_pages(1);
    test_claims();
    return tap_done();
}
