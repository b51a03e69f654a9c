/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/node_cache.h"

#include <string.h>

#include "base/error.h"
#include "base/planted.h"
#include "comm/alltoallv.h"

enum {
    TILES_MOST = 1 << 16, /* of B: each PE tells all others which it requires */
    PART = 8              /* cached tiles take at most that part of the data segment */
};

/* Place of a tile of B that comes to a tile. */
struct slot {
    const char *block; /* NULL: to none */
    int64_t nnz;
    tulle__place words; /* of who fetches it */
    int64_t number;     /* of them */
    uint64_t seen;      /* what it was when last read */
};

/* One of this PE's. */
struct cached_tile {
    int k, j;
    tulle__transfer transfer; /* group < 0: none is under way */
    tulle__subset *subset;
    tulle__place block;
};

/* A request, before its bits; a reply. */
struct request {
    int64_t tile, words;
};
struct reply {
    int64_t tile, nnz, number;
    tulle__place block, words;
};

struct tulle__node_cache {
    tulle_comm *comm;
    int K, N, tiles;
    /* [tiles]: bits of rows; NULL: not needed here. Until the exchange ends */
    uint64_t **asked;
    struct slot *slot;       /* [tiles] */
    struct cached_tile *own; /* [count] */
    int count;
    size_t capacity;
    tulle__place words; /* of own cached tiles: the last execution in which it was filled */
    int words_taken;
    tulle__alltoallv *requests, *replies;
    uint64_t execution;
    int started, landed; /* in this one */
};

tulle_status tulle__node_cache_new(tulle_comm *comm, const tulle__operands *o, tulle__node_cache **out)
{
    tulle_status status;
    tulle__node_cache *s = NULL;
    int64_t tiles = (int64_t)o->K * o->N;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *s, "the node cache", &s));
    s->comm = comm;
    s->K = o->K;
    s->N = o->N;
    s->tiles = tiles > TILES_MOST ? 0 : (int)tiles;
    TULLE_TRY(tulle__alloc_zero((size_t)s->tiles, sizeof *s->asked, "the node cache", &s->asked));
    TULLE_TRY(tulle__alloc_zero((size_t)s->tiles, sizeof *s->slot, "the node cache", &s->slot));
    TULLE_TRY(tulle__alltoallv_new(comm, &s->requests));
    TULLE_TRY(tulle__alltoallv_new(comm, &s->replies));
    *out = s;
    return TULLE_OK;
out:
    tulle__node_cache_free(s);
    return status;
}

void tulle__node_cache_end_exchange(tulle__node_cache *s)
{
    for (int t = 0; s->asked && t < s->tiles; t++) tulle__free(s->asked[t]);
    tulle__free(s->asked);
    tulle__alltoallv_free(s->requests);
    tulle__alltoallv_free(s->replies);
    s->asked = NULL;
    s->requests = s->replies = NULL;
}

void tulle__node_cache_free(tulle__node_cache *s)
{
    if (!s) return;
    tulle__node_cache_end_exchange(s);
    for (int n = 0; n < s->count; n++) {
        tulle__heap_give(s->comm->pe->data, &s->own[n].block);
        tulle__subset_free(s->own[n].subset);
    }
    if (s->words_taken) tulle__heap_give(s->comm->pe->control, &s->words);
    tulle__free(s->own);
    tulle__free(s->slot);
    tulle__free(s);
}

size_t tulle__node_cache_held(const tulle__node_cache *s)
{
    size_t bytes = sizeof *s + (size_t)s->tiles * sizeof *s->slot + s->capacity;
    for (int n = 0; n < s->count; n++) bytes += sizeof *s->own + tulle__subset_held(s->own[n].subset);
    return bytes;
}

tulle_status tulle__node_cache_request(tulle__node_cache *s, int k, int j, int64_t rows, uint64_t **bits)
{
    int t = k * s->N + j;
    *bits = NULL;
    if (!s->tiles) return TULLE_OK;
    if (!s->asked[t]) {
        TULLE_CALL(tulle__alloc_zero((size_t)(rows / 64 + 1), sizeof **s->asked, "rows asked for", &s->asked[t]));
    }
    *bits = s->asked[t];
    return TULLE_OK;
}

/* ---- who fetches what ---- */

/* The lowest rank whose data this PE reads in place: the same for all PEs of a node. */
static int node_of(tulle_comm *comm)
{
    for (int r = 0; r < comm->size; r++) {
        tulle__place place = {.rank = tulle__comm_world(comm, r), .segment = TULLE__DATA};
        if (tulle__mapped(comm, &place)) return r;
    }
    return comm->rank;
}

/* Survey from each PE: its node, and a bit for each tile that it needs. */
struct survey {
    int64_t words;
    uint64_t *all; /* [size * words] */
};

static int asks(const struct survey *survey, int rank, int t)
{
    return survey->all[rank * survey->words + 1 + t / 64] >> (t % 64) & 1;
}

static tulle_status take_survey(const tulle__node_cache *s, struct survey *survey)
{
    TULLE__SCOPED uint64_t *mine = NULL;
    survey->words = 2 + s->tiles / 64;
    TULLE_CALL(tulle__alloc_zero((size_t)survey->words, sizeof *mine, "tiles needed", &mine));
    TULLE_CALL(tulle__alloc((size_t)(survey->words * s->comm->size), sizeof *mine, "tiles needed", &survey->all));
    mine[0] = (uint64_t)node_of(s->comm);
    for (int t = 0; t < s->tiles; t++)
        if (s->asked[t]) mine[1 + t / 64] |= (uint64_t)1 << (t % 64);
    return tulle_comm_allgather(s->comm, mine, (size_t)survey->words * sizeof *mine, survey->all);
}

/* True if any two PEs are on one node. */
static int any_neighbours(const tulle__node_cache *s, const struct survey *survey)
{
    for (int r = 0; r < s->comm->size; r++)
        if (survey->all[r * survey->words] != (uint64_t)r) return 1;
    return 0;
}

/* PE of this node that fetches tile t; -1: it is not shared. */
static int fetcher(const tulle__node_cache *s, const struct survey *survey, int t)
{
    int size = s->comm->size, count = 0, chosen;
    uint64_t node = survey->all[s->comm->rank * survey->words];
    for (int r = 0; r < size; r++) count += survey->all[r * survey->words] == node && asks(survey, r, t);
    if (count < 2) return -1;
    chosen = t % count;
    for (int r = 0; r < size; r++)
        if (survey->all[r * survey->words] == node && asks(survey, r, t) && chosen-- == 0) return r;
    return -1;
}

static tulle_status send_requests(tulle__node_cache *s, const struct survey *survey, const tulle_mat *B)
{
    for (int t = 0; t < s->tiles; t++) {
        if (!s->asked[t]) continue;
        int to = fetcher(s, survey, t);
        if (to < 0 || to == s->comm->rank) continue;
        struct request request = {t, tulle__tile_rows(B, t / s->N) / 64 + 1};
        size_t bits = (size_t)request.words * sizeof(uint64_t);
        char *at;
        TULLE_CALL(tulle__alltoallv_reserve(s->requests, to, sizeof request + bits, &at));
        memcpy(at, &request, sizeof request);
        memcpy(at + sizeof request, s->asked[t], bits);
        tulle__alltoallv_written(s->requests, to, sizeof request + bits);
    }
    return tulle__alltoallv_exchange(s->requests);
}

/* Calls take for each request of each PE. */
static tulle_status read_requests(tulle__node_cache *s,
    tulle_status (*take)(tulle__node_cache *s, int from, const struct request *r, const uint64_t *bits))
{
    for (int r = 0; r < s->comm->size; r++) {
        size_t bytes;
        const char *at = tulle__alltoallv_from(s->requests, r, &bytes), *end = at + bytes;
        while (at < end) {
            const struct request *request = (const struct request *)(const void *)at;
            const uint64_t *bits = (const uint64_t *)(const void *)(at + sizeof *request);
            TULLE_CALL(take(s, r, request, bits));
            at = (const char *)(bits + request->words);
        }
    }
    return TULLE_OK;
}

static tulle_status add_rows(tulle__node_cache *s, int from, const struct request *r, const uint64_t *bits)
{
    (void)from;
    for (int64_t w = 0; w < r->words; w++) s->asked[r->tile][w] |= bits[w];
    return TULLE_OK;
}

/* Caches tile t, unless there is no room. */
static tulle_status add_tile(tulle__node_cache *s, const tulle_mat *B, int t)
{
    tulle_status status;
    int k = t / s->N, j = t % s->N;
    tulle__row_set rows = {0};
    int64_t *rowptr = NULL;
    struct cached_tile tile = {.k = k, .j = j, .transfer = {.group = -1}};
    TULLE_TRY(tulle__row_set_of_bits(s->asked[t], tulle__tile_rows(B, k) / 64 + 1, &rows));
    if (B->kind == TULLE_CSR) TULLE_TRY(tulle__rowptr_read(B, k, j, &rowptr));
    TULLE_TRY(tulle__subset_new(B, k, j, &rows, rowptr, &tile.subset));
    size_t capacity = tulle__subset_workspace(B, k, j, tile.subset);
    if (s->capacity + capacity > s->comm->pe->link->segment_bytes[TULLE__DATA] / PART) goto out;
    if (tulle__heap_take(s->comm->pe->data, capacity, "a tile of the node cache", &tile.block) != TULLE_OK) goto out;
    s->capacity += capacity;
    s->slot[t] = (struct slot){.block = tulle__mapped(s->comm, &tile.block),
        .nnz = tulle__subset_entries(tile.subset),
        .words = s->words,
        .number = s->count};
    s->own[s->count++] = tile;
    tile.subset = NULL;
out:
    tulle__subset_free(tile.subset);
    tulle__row_set_fini(&rows);
    tulle__free(rowptr);
    return status;
}

static tulle_status add_tiles(tulle__node_cache *s, const struct survey *survey, const tulle_mat *B)
{
    int count = 0;
    TULLE_CALL(read_requests(s, add_rows));
    for (int t = 0; t < s->tiles; t++) count += s->asked[t] && fetcher(s, survey, t) == s->comm->rank;
    if (!count) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *s->own, "the node cache", &s->own));
    TULLE_CALL(
        tulle__heap_take(s->comm->pe->control, (size_t)count * sizeof(uint64_t), "words of the node cache", &s->words));
    s->words_taken = 1;
    memset(tulle__mapped(s->comm, &s->words), 0, (size_t)count * sizeof(uint64_t));
    for (int t = 0; t < s->tiles; t++)
        if (s->asked[t] && fetcher(s, survey, t) == s->comm->rank) TULLE_CALL(add_tile(s, B, t));
    return TULLE_OK;
}

static tulle_status answer(tulle__node_cache *s, int from, const struct request *r, const uint64_t *bits)
{
    (void)bits;
    char *at;
    const struct slot *slot = &s->slot[r->tile];
    if (!slot->block) return TULLE_OK;
    struct reply reply = {r->tile, slot->nnz, slot->number, s->own[slot->number].block, s->words};
    TULLE_CALL(tulle__alltoallv_reserve(s->replies, from, sizeof reply, &at));
    memcpy(at, &reply, sizeof reply);
    tulle__alltoallv_written(s->replies, from, sizeof reply);
    return TULLE_OK;
}

static void read_replies(tulle__node_cache *s)
{
    for (int r = 0; r < s->comm->size; r++) {
        size_t bytes;
        const char *at = tulle__alltoallv_from(s->replies, r, &bytes), *end = at + bytes;
        for (; at < end; at += sizeof(struct reply)) {
            const struct reply *reply = (const struct reply *)(const void *)at;
            s->slot[reply->tile] = (struct slot){.block = tulle__mapped(s->comm, &reply->block),
                .nnz = reply->nnz,
                .words = reply->words,
                .number = reply->number};
        }
    }
}

tulle_status tulle__node_cache_exchange(tulle__node_cache *s, const tulle_mat *B)
{
    tulle_status status;
    struct survey survey = {.all = NULL};
    TULLE_TRY(take_survey(s, &survey));
    if (!any_neighbours(s, &survey)) goto out;
    TULLE_TRY(send_requests(s, &survey, B));
    TULLE_TRY(add_tiles(s, &survey, B));
    TULLE_TRY(read_requests(s, answer));
    TULLE_TRY(tulle__alltoallv_exchange(s->replies));
    read_replies(s);
out:
    tulle__free(survey.all);
    return status;
}

/* ---- an execution ---- */

int tulle__node_cache_has(const tulle__node_cache *s, int k, int j)
{
    return s && s->tiles && s->slot[k * s->N + j].block != NULL;
}

size_t tulle__node_cache_bytes(const tulle__node_cache *s)
{
    size_t bytes = 0;
    for (int n = 0; n < s->count; n++) bytes += tulle__subset_bytes(s->own[n].subset);
    return bytes;
}

void tulle__node_cache_begin(tulle__node_cache *s)
{
    if (TULLE__PLANTED(stale_node_cache) && s->execution) return;
    s->execution++;
    s->started = s->landed = 0;
}

tulle_status tulle__node_cache_serve(tulle__node_cache *s, const tulle_mat *B, int most, int *done)
{
    while (s->started < s->count && s->started - s->landed < most) {
        struct cached_tile *tile = &s->own[s->started];
        void *block = tulle__mapped(s->comm, &tile->block);
        TULLE_CALL(tulle__subset_start(B, tile->k, tile->j, tile->subset, block, &tile->transfer));
        s->started++;
    }
    if (s->landed < s->started) {
        const tulle__transfer *transfer = &s->own[s->landed].transfer;
        if (transfer->group >= 0) TULLE_CALL(tulle__transfer_wait(s->comm, transfer));
        tulle__store(s->comm, &s->words, (uint64_t)s->landed * sizeof(uint64_t), s->execution);
        s->landed++;
    }
    *done = s->landed == s->count;
    return TULLE_OK;
}

void tulle__node_cache_drain(tulle__node_cache *s)
{
    for (; s->landed < s->started; s->landed++)
        if (s->own[s->landed].transfer.group >= 0) (void)tulle__transfer_wait(s->comm, &s->own[s->landed].transfer);
}

tulle__fetch tulle__node_cache_fetch(const tulle__node_cache *s, const tulle_mat *B, int k, int j)
{
    const struct slot *slot = &s->slot[k * s->N + j];
    tulle__fetch fetch = {.A = B,
        .i = k,
        .j = j,
        .group = -1,
        .block = (void *)(uintptr_t)slot->block,
        .record = B->directory[tulle__tile_index(B, k, j)]};
    fetch.record.nnz = slot->nnz;
    return fetch;
}

tulle_status tulle__node_cache_await(
    tulle__node_cache *s, const tulle_mat *B, int k, int j, tulle__serve serve, void *context)
{
    struct slot *slot = &s->slot[k * s->N + j];
    for (int turns = 0; slot->seen < s->execution;) {
        int done;
        slot->seen = tulle__load(s->comm, &slot->words, (uint64_t)slot->number * sizeof(uint64_t));
        if (slot->seen >= s->execution) break;
        TULLE_CALL(tulle__node_cache_serve(s, B, 1, &done));
        TULLE_CALL(serve(context));
        TULLE_CALL(tulle__comm_failed(s->comm));
        if (done) tulle__poll(s->comm, &turns);
    }
    return TULLE_OK;
}
