/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/block_plan.h"

#include "algo/product/run/runner.h"
#include "algo/product/source/operand_cache.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/fetch.h"

enum { AHEAD_MOST = 1023 };

static int64_t tile_bytes(const tulle_mat *X, int i, int j)
{
    return tulle__tile_rows(X, i) * tulle__tile_cols(X, j) * (int64_t)tulle_type_size(X->type);
}

/* Finds the largest tile of each operand. */
static void find_largest(const tulle__block_order *o, size_t *bytes)
{
    const tulle__operands *x = o->operands;
    int64_t m = 0, n = 0, k = 0, size = (int64_t)tulle_type_size(x->C->type);
    for (int r = 0; r < o->rows; r++)
        if (tulle__tile_rows(x->C, o->row[r]) > m) m = tulle__tile_rows(x->C, o->row[r]);
    for (int c = 0; c < o->cols; c++)
        if (tulle__tile_cols(x->C, o->col[c]) > n) n = tulle__tile_cols(x->C, o->col[c]);
    for (int t = 0; t < o->inner; t++)
        if (tulle__tile_cols(x->A, o->k[t]) > k) k = tulle__tile_cols(x->A, o->k[t]);
    bytes[0] = (size_t)(m * k * size);
    bytes[1] = (size_t)(k * n * size);
    bytes[2] = (size_t)(m * n * size);
}

/* ---- what devices load ---- */

/* Holders of a tile: devices, and the host of one that other PEs own, now or earlier. */
struct tile {
    uint64_t devices;
    bool fetched, ever;
};

/* A sweep over the jobs. */
struct holders {
    const tulle__block_order *order;
    int devices, peers;
    struct tile *a, *b;  /* [M K], [K N] */
    int64_t once, again; /* bytes that are fetched */
    tulle_gemm_blocks *sum;
};

static void moved(struct holders *h, int way, int64_t bytes)
{
    h->sum->copies[way]++;
    h->sum->bytes[way] += bytes;
}

static void read_tile(struct holders *h, struct tile *tile, int device, int64_t bytes, int64_t fetched)
{
    uint64_t me = (uint64_t)1 << device;
    if (!(tile->devices & me)) moved(h, tile->devices && h->peers ? 2 : 0, bytes);
    h->once += tile->ever ? 0 : fetched;
    h->again += tile->fetched ? 0 : fetched;
    tile->devices |= me;
    tile->fetched = tile->ever = true;
}

static void count_chain(struct holders *h, const int *column, const tulle__chain *chain, int done)
{
    const tulle__operands *x = h->order->operands;
    int device = column[chain->j] % h->devices;
    for (int t = 0; t < chain->nk; t++) {
        int k = chain->k[t];
        struct tile *a = &h->a[(int64_t)chain->i * x->K + k], *b = &h->b[(int64_t)k * x->N + chain->j];
        read_tile(h, a, device, tile_bytes(x->A, chain->i, k), (int64_t)tulle__fetch_bytes(x->A, chain->i, k));
        read_tile(h, b, device, tile_bytes(x->B, k, chain->j), (int64_t)tulle__fetch_bytes(x->B, k, chain->j));
        if (done & TULLE__DONE_A) a->devices = 0;
        if (done & TULLE__DONE_B) b->devices = 0;
        if (done & TULLE__HOST_DONE_A) a->fetched = false;
        if (done & TULLE__HOST_DONE_B) b->fetched = false;
    }
}

/* Tiles of C that jobs write: each once. */
static void count_results(struct holders *h)
{
    const tulle__block_order *o = h->order;
    const tulle__operands *x = o->operands;
    for (int r = 0; r < o->rows; r++)
        for (int c = 0; c < o->cols; c++) {
            int i = o->row[r], j = o->col[c], used = 0;
            if (tulle__layout_owner(x->C->layout, i, j) != o->rank) continue;
            for (int t = 0; t < o->inner && !used; t++) used = tulle__operands_meet(x, i, o->k[t], j);
            if (used) moved(h, 1, tile_bytes(x->C, i, j));
        }
}

/* The loads of all jobs to the byte, as long as every tile that the shape has room for finds it. */
static tulle_status count_loads(tulle__block_order *order, const tulle__runner *runner, tulle_gemm_blocks *sum)
{
    tulle_status status;
    const tulle__operands *x = order->operands;
    struct holders h = {.order = order, .devices = runner->devices, .peers = runner->peers, .sum = sum};
    tulle__chain chain = {.nk = 0};
    tulle__block_cursor at = {.block = 0};
    int done;
    for (int way = 0; way < 3; way++) sum->copies[way] = sum->bytes[way] = 0;
    TULLE_TRY(tulle__alloc((size_t)order->shape.chunk, sizeof *chain.k, "a chain", &chain.k));
    TULLE_TRY(tulle__alloc_zero((size_t)x->M * (size_t)x->K, sizeof *h.a, "holders of tiles", &h.a));
    TULLE_TRY(tulle__alloc_zero((size_t)x->K * (size_t)x->N, sizeof *h.b, "holders of tiles", &h.b));
    while (tulle__block_order_next(order, &at, &chain, &done)) count_chain(&h, runner->column, &chain, done);
    count_results(&h);
    order->network_once = h.once;
    order->network_again = h.again;
out:
    tulle__free(chain.k);
    tulle__free(h.a);
    tulle__free(h.b);
    return status;
}

/* ---- the plan ---- */

/* Bytes from other PEs, at most: of a tile row of A, and of a tile column of B. */
static void find_remote(const tulle__block_order *o, int64_t *remote_a, int64_t *remote_b)
{
    const tulle__operands *x = o->operands;
    for (int r = 0; r < o->rows; r++) {
        int64_t bytes = 0;
        for (int t = 0; t < o->inner; t++) bytes += (int64_t)tulle__fetch_bytes(x->A, o->row[r], o->k[t]);
        if (bytes > *remote_a) *remote_a = bytes;
    }
    for (int c = 0; c < o->cols; c++) {
        int64_t bytes = 0;
        for (int t = 0; t < o->inner; t++) bytes += (int64_t)tulle__fetch_bytes(x->B, o->k[t], o->col[c]);
        if (bytes > *remote_b) *remote_b = bytes;
    }
}

/* Bytes that the host keeps for blocks: half of the cache's room, as an execution needs memory as well. */
static int64_t host_capacity(const tulle_comm *comm)
{
    int64_t capacity = tulle__operand_cache_capacity(comm) / 2;
    return capacity > 0 ? capacity : 1;
}

static tulle_status choose_shape(const tulle_product_options *options, tulle__runner *runner, tulle__block_order *order)
{
    int64_t remote_a = 0, remote_b = 0;
    find_largest(order, runner->tile);
    find_remote(order, &remote_a, &remote_b);
    const tulle_gemm_tiles tiles = {.rows = order->rows,
        .cols = order->cols,
        .inner = order->inner,
        .bytes_a = (int64_t)runner->tile[0],
        .bytes_b = (int64_t)runner->tile[1],
        .bytes_c = (int64_t)runner->tile[2],
        .devices = runner->devices,
        .capacity = runner->capacity < INT64_MAX ? (int64_t)runner->capacity : INT64_MAX,
        .peers = runner->peers,
        .ascending = options->deterministic,
        .block_rows = options->blocks->rows,
        .block_cols = options->blocks->cols,
        .chunk = options->blocks->chunk,
        .lookahead = options->lookahead,
        .host_rows = options->blocks->host_rows,
        .host_cols = options->blocks->host_cols,
        .remote_a = remote_a,
        .remote_b = remote_b,
        .host = host_capacity(order->operands->C->comm)};
    order->ascending = options->deterministic;
    return tulle_gemm_blocks_best(&tiles, &order->shape);
}

/* Jobs to look at for what is copied ahead: those of the lookahead's steps. */
static int jobs_ahead(const tulle_gemm_blocks *s)
{
    int64_t jobs = (int64_t)s->rows * s->cols * (1 + (s->lookahead + s->chunk - 1) / s->chunk);
    return jobs < AHEAD_MOST ? (int)jobs : AHEAD_MOST;
}

tulle_status tulle__block_plan(const tulle__operands *operands, const tulle_product_options *options, int rank,
    tulle__runner *runner, tulle__block_order *order)
{
    TULLE_CALL(tulle__block_order_init(operands, rank, order));
    TULLE_CALL(choose_shape(options, runner, order));
    if (!order->rows) return TULLE_OK;
    TULLE_CALL(count_loads(order, runner, &order->shape));
    runner->blocks = &order->shape;
    runner->window = tulle__block_order_window(order);
    runner->ahead = order->shape.lookahead ? jobs_ahead(&order->shape) : 0;
    runner->ops->block(runner);
    return TULLE_OK;
}
