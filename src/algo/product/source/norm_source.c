/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/norm_source.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tile/tile_blocks.h"

struct tulle__norm_source {
    tulle__source source;
    tulle_comm *comm;
    const tulle__policy *policy;
    const tulle__operands *operands;
    tulle_transfers transfers;
    const tulle__transfer_costs *prices;
    const double *const *least;
    tulle__norms_for jobs;
    char **head;  /* [M K + K N]: of remote tiles of A, of B; NULL: there is none */
    size_t bytes; /* of own jobs' heads, which lie one behind the other */
    char *heads;
    int64_t *stolen, nstolen; /* [M K + K N]: tiles of stolen jobs, whose heads have been fetched alone */
    tulle__unfetched unfetched;
};

/* A tile of a factor. */
struct spot {
    const tulle_mat *X;
    int row, col;
    int64_t index;
};

static struct spot spot_of(const tulle__norm_source *s, tulle__factor factor, int i, int k, int j)
{
    const tulle__operands *o = s->operands;
    if (factor == TULLE__FACTOR_A) return (struct spot){o->A, i, k, (int64_t)i * o->K + k};
    return (struct spot){o->B, k, j, (int64_t)o->M * o->K + (int64_t)k * o->N + j};
}

static size_t head_bytes(const struct spot *t)
{
    const tulle__tile_record *record = &t->X->directory[tulle__tile_index(t->X, t->row, t->col)];
    const tulle_gidx rows = tulle__tile_block_rows(t->X, t->row);
    return tulle__vbsr_offsets_of(rows, record->blocks, record->nnz, t->X->type).val;
}

static bool is_remote(const struct spot *t)
{
    return tulle__fetch_bytes(t->X, t->row, t->col) > 0;
}

static int64_t count_tiles(const tulle__operands *o)
{
    return (int64_t)o->M * o->K + (int64_t)o->K * o->N;
}

/* ---- heads ---- */

/* Adds up the heads of the remote tiles of own jobs and, where there is memory for them, places them. */
static void place_heads(tulle__norm_source *s, char *seen)
{
    const tulle__operands *o = s->operands;
    s->bytes = 0;
    memset(seen, 0, (size_t)count_tiles(o));
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) {
                if (!tulle__operands_meet(o, i, k, j) || s->policy->worker(o, i, k, j) != s->comm->rank) continue;
                for (int factor = TULLE__FACTOR_A; factor <= TULLE__FACTOR_B; factor++) {
                    const struct spot t = spot_of(s, (tulle__factor)factor, i, k, j);
                    if (seen[t.index] || !is_remote(&t)) continue;
                    if (s->heads) s->head[t.index] = s->heads + s->bytes;
                    s->bytes += head_bytes(&t);
                    seen[t.index] = 1;
                }
            }
}

/* Lists the remote tiles that this PE multiplies. */
static tulle_status list_heads(tulle__norm_source *s)
{
    const size_t tiles = (size_t)count_tiles(s->operands);
    TULLE__SCOPED char *seen = NULL;
    TULLE_CALL(tulle__alloc_zero(tiles, sizeof *s->head, "heads of tiles", &s->head));
    TULLE_CALL(tulle__alloc(tiles, 1, "heads of tiles", &seen));
    if (s->jobs == TULLE__NORMS_FOR_CLAIMS)
        TULLE_CALL(tulle__alloc(tiles, sizeof *s->stolen, "heads of tiles", &s->stolen));
    place_heads(s, seen);
    TULLE_CALL(tulle__alloc(s->bytes, 1, "heads of tiles", &s->heads));
    place_heads(s, seen);
    return TULLE_OK;
}

static void get_head(const tulle__norm_source *s, int group, const struct spot *t)
{
    tulle__get(s->comm, group, &t->X->directory[tulle__tile_index(t->X, t->row, t->col)].place, 0, s->head[t->index],
        head_bytes(t));
}

static void drop_stolen(tulle__norm_source *s)
{
    for (; s->nstolen; s->nstolen--) {
        char **head = &s->head[s->stolen[s->nstolen - 1]];
        tulle__free(*head);
        *head = NULL;
    }
}

static tulle_status begin(tulle__source *source, const tulle__waiting *waiting, int64_t *copied)
{
    tulle__norm_source *s = (tulle__norm_source *)source;
    const tulle__operands *o = s->operands;
    (void)waiting, (void)copied;
    s->unfetched = (tulle__unfetched){.blocks = 0};
    if (!s->bytes) return TULLE_OK;
    const int group = tulle__comm_group(s->comm);
    for (int factor = TULLE__FACTOR_A; factor <= TULLE__FACTOR_B; factor++)
        for (int x = 0; x < (factor == TULLE__FACTOR_A ? o->M : o->N); x++)
            for (int k = 0; k < o->K; k++) {
                const struct spot t = spot_of(s, (tulle__factor)factor, x, k, x);
                if (s->head[t.index]) get_head(s, group, &t);
            }
    return tulle__wait(s->comm, group);
}

/* The heads of the tiles of a stolen job, unless they are there. */
static tulle_status fetch_heads(tulle__norm_source *s, const tulle__wanted *w)
{
    tulle_status status = TULLE_OK;
    int group = -1;
    for (int factor = TULLE__FACTOR_A; factor <= TULLE__FACTOR_B && status == TULLE_OK; factor++) {
        const struct spot t = spot_of(s, (tulle__factor)factor, w->i, w->k, w->j);
        if (s->head[t.index] || !is_remote(&t)) continue;
        status = tulle__alloc(head_bytes(&t), 1, "the head of a tile", &s->head[t.index]);
        if (status != TULLE_OK) break;
        s->stolen[s->nstolen++] = t.index;
        if (group < 0) group = tulle__comm_group(s->comm);
        get_head(s, group, &t);
    }
    const tulle_status waited = group < 0 ? TULLE_OK : tulle__wait(s->comm, group);
    return status == TULLE_OK ? waited : status;
}

/* A tile without its values, or in place. */
static tulle_tile head_of(const tulle__norm_source *s, const struct spot *t)
{
    if (!s->head[t->index]) return tulle__tile_in_place(t->X, t->row, t->col);
    return tulle__tile_view(
        t->X, t->row, t->col, &t->X->directory[tulle__tile_index(t->X, t->row, t->col)], s->head[t->index]);
}

/* ---- which blocks survive ---- */

/* The largest norm of each block row, NaN if there is one; below 0: the row is empty. */
static void largest_of_rows(const tulle_tile *B, double *largest)
{
    for (int64_t r = 0; r < B->block_rows; r++) {
        largest[r] = -1;
        for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++)
            if (!(B->norm[f] <= largest[r]) && !isnan(largest[r])) largest[r] = B->norm[f];
    }
}

/* Rounding is monotone: some product of the block survives if that with the largest norm does. */
static void mark_a(const tulle_tile *A, const tulle_tile *B, const double *least, double *largest, char *needed)
{
    largest_of_rows(B, largest);
    for (int64_t r = 0; r < A->block_rows; r++)
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            const double other = largest[A->colind[e]];
            if (!(other < 0) && !(A->norm[e] * other < least[r])) needed[e] = 1;
        }
}

/* The least norm that a block of each row of B must have, a little less; INFINITY: none survives. */
static void least_of_rows(const tulle_tile *A, const double *least, double *required, int64_t rows)
{
    static const double slack = 1 - 1e-12;
    for (int64_t k = 0; k < rows; k++) required[k] = INFINITY;
    for (int64_t r = 0; r < A->block_rows; r++)
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            const double norm = least[r] / A->norm[e] * slack;
            double *to = &required[A->colind[e]];
            if (isnan(norm)) *to = -1; /* a norm is NaN, or 0 beside a threshold of 0 */
            if (norm < *to) *to = norm;
        }
}

static void mark_b(const tulle_tile *A, const tulle_tile *B, const double *least, double *required, char *needed)
{
    least_of_rows(A, least, required, B->block_rows);
    for (int64_t k = 0; k < B->block_rows; k++)
        for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++)
            if (required[k] < INFINITY && !(B->norm[f] < required[k])) needed[f] = 1;
}

/* ---- fetches ---- */

/* Runs of needed blocks, and their values. */
static int64_t count_needed(const tulle_tile *head, const char *needed, int64_t *values)
{
    int64_t runs = 0;
    *values = 0;
    for (int64_t e = 0; e < head->blocks; e++) {
        if (!needed[e]) continue;
        runs += e == 0 || !needed[e - 1];
        *values += head->offset[e + 1] - head->offset[e];
    }
    return runs;
}

/* Starts a fetch of the needed blocks, of so many values in so many runs, into a tile with the whole index. */
static tulle_status start_needed(tulle__norm_source *s, const struct spot *t, const tulle_tile *head,
    const char *needed, int64_t runs, int64_t values, tulle__fetch *fetch)
{
    tulle_status status;
    const size_t size = tulle_type_size(t->X->type);
    tulle__fetch f = {.A = t->X,
        .i = t->row,
        .j = t->col,
        .group = -1,
        .record = t->X->directory[tulle__tile_index(t->X, t->row, t->col)]};
    const tulle__blocks_offsets from = tulle__vbsr_offsets_of(head->block_rows, head->blocks, head->nnz, t->X->type);
    tulle__range *range = NULL;
    int n = 0;
    f.record.nnz = values;
    TULLE_TRY(tulle__alloc((size_t)runs, sizeof *range, "a vector get", &range));
    TULLE_TRY(tulle__fetch_buffer(from.val + (size_t)values * size, s->operands->receiver, false, &f));
    memcpy(f.block, head->rowptr, from.val);
    int64_t *offset = (int64_t *)(void *)((char *)f.block + from.offset), at = 0;
    for (int64_t e = 0; e < head->blocks; e++) {
        const int64_t count = needed[e] ? head->offset[e + 1] - head->offset[e] : 0;
        offset[e] = at;
        if (needed[e] && (e == 0 || !needed[e - 1]))
            range[n++] = (tulle__range){
                from.val + (uint64_t)head->offset[e] * size, (char *)f.block + from.val + (size_t)at * size, 0};
        if (needed[e]) range[n - 1].bytes += (size_t)count * size;
        at += count;
    }
    offset[head->blocks] = at;
    if (n) {
        f.group = tulle__comm_group(s->comm);
        f.count = tulle__getv(s->comm, f.group, &f.record.place, n, range).count;
    }
    *fetch = f;
out:
    tulle__free(range);
    if (status != TULLE_OK) tulle__fetch_fini(&f);
    return status;
}

/* Cost of a vector get by the model; by transfers alone, its bytes. */
static double cost(const void *context, int owner, double bytes, double ranges)
{
    const tulle__norm_source *s = context;
    if (s->transfers == TULLE_TRANSFERS_COVER) return bytes;
    return tulle__transfer_cost(s->prices, s->comm->rank, owner, bytes, ranges, ranges > 0);
}

/* The bytes that cost less than another range. */
static double gap(const tulle__norm_source *s, int owner)
{
    if (s->transfers == TULLE_TRANSFERS_COVER) return 0;
    return s->prices->range[tulle__pe_distance(s->prices, s->comm->rank, owner)];
}

/* Blocks between needed ones come with them where that costs less than a range of its own. */
static void fill_gaps(const tulle__norm_source *s, const struct spot *t, const tulle_tile *head, char *needed)
{
    const double most = gap(s, tulle__layout_owner(t->X->layout, t->row, t->col));
    const size_t size = tulle_type_size(t->X->type);
    int64_t last = -1; /* needed block */
    for (int64_t e = 0; e < head->blocks; e++) {
        if (!needed[e]) continue;
        const int64_t between = last < 0 ? 0 : head->offset[e] - head->offset[last + 1];
        if (between && (double)between * (double)size <= most) memset(needed + last + 1, 1, (size_t)(e - last - 1));
        last = e;
    }
}

/* Marks the blocks of the wanted tile that the product of (i, k, j) needs. */
static void mark(const tulle__norm_source *s, tulle__factor factor, int i, int k, int j, double *bounds, char *needed)
{
    const struct spot of_a = spot_of(s, TULLE__FACTOR_A, i, k, j), of_b = spot_of(s, TULLE__FACTOR_B, i, k, j);
    const tulle_tile A = head_of(s, &of_a), B = head_of(s, &of_b);
    const double *least = *s->least + s->operands->A->layout->row_blocks.first[i];
    if (factor == TULLE__FACTOR_A)
        mark_a(&A, &B, least, bounds, needed);
    else
        mark_b(&A, &B, least, bounds, needed);
}

/* The same for all own jobs that read the tile, which stays for them. */
static void mark_for_all(const tulle__norm_source *s, const tulle__wanted *w, double *bounds, char *needed)
{
    const tulle__operands *o = s->operands;
    const bool of_a = w->factor == TULLE__FACTOR_A;
    for (int x = 0; x < (of_a ? o->N : o->M); x++) {
        const int i = of_a ? w->i : x, j = of_a ? x : w->j;
        if (tulle__operands_meet(o, i, w->k, j) && s->policy->worker(o, i, w->k, j) == s->comm->rank)
            mark(s, w->factor, i, w->k, j, bounds, needed);
    }
}

static tulle_status start(tulle__source *source, const tulle__wanted *w, tulle__fetch *fetch)
{
    tulle__norm_source *s = (tulle__norm_source *)source;
    const struct spot t = spot_of(s, w->factor, w->i, w->k, w->j);
    if (!is_remote(&t)) return tulle__source_start(source->below, w, fetch);
    const tulle_gidx inner = tulle__tile_block_rows(s->operands->B, w->k);
    const size_t size = tulle_type_size(t.X->type);
    TULLE__SCOPED double *bounds = NULL;
    TULLE__SCOPED char *needed = NULL;
    int64_t values;
    if (s->jobs == TULLE__NORMS_FOR_CLAIMS) TULLE_CALL(fetch_heads(s, w));
    const tulle_tile head = head_of(s, &t);
    TULLE_CALL(tulle__alloc((size_t)inner, sizeof *bounds, "norms of rows", &bounds));
    TULLE_CALL(tulle__alloc_zero((size_t)head.blocks, 1, "blocks that are needed", &needed));
    if (s->jobs == TULLE__NORMS_FOR_CACHE)
        mark_for_all(s, w, bounds, needed);
    else
        mark(s, w->factor, w->i, w->k, w->j, bounds, needed);
    fill_gaps(s, &t, &head, needed);
    const int owner = tulle__layout_owner(t.X->layout, t.row, t.col);
    const int64_t runs = count_needed(&head, needed, &values);
    if (runs >= INT_MAX || cost(s, owner, (double)values * (double)size, (double)runs) >
                               cost(s, owner, (double)head.nnz * (double)size, 1)) {
        memset(needed, 1, (size_t)head.blocks);
        return start_needed(s, &t, &head, needed, 1, head.nnz, fetch);
    }
    TULLE_CALL(start_needed(s, &t, &head, needed, runs, values, fetch));
    for (int64_t e = 0; e < head.blocks; e++) s->unfetched.blocks += !needed[e];
    s->unfetched.bytes += (head.nnz - values) * (int64_t)size;
    return TULLE_OK;
}

static tulle_status await(tulle__source *source, const tulle__wanted *w, tulle__fetch *fetch, tulle_tile *tile)
{
    const tulle__norm_source *s = (const tulle__norm_source *)source;
    const struct spot t = spot_of(s, w->factor, w->i, w->k, w->j);
    return is_remote(&t) ? tulle__fetch_await(fetch, tile) : tulle__source_await(source->below, w, fetch, tile);
}

static void end(tulle__source *source)
{
    drop_stolen((tulle__norm_source *)source);
}

static const tulle__source_ops ops = {.begin = begin,
    .start = start,
    .await = await,
    .reach = tulle__source_no_reach,
    .serve = tulle__source_no_serve,
    .end = end};

tulle_status tulle__norm_source_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    tulle__norms_for jobs, tulle_transfers transfers, const tulle__transfer_costs *prices, const double *const *least,
    tulle__norm_source **out)
{
    tulle__norm_source *s = NULL;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *s, "a source of blocks", &s));
    s->source.ops = &ops;
    s->comm = comm;
    s->policy = policy;
    s->operands = operands;
    s->transfers = transfers;
    s->prices = prices;
    s->least = least;
    s->jobs = jobs;
    tulle_status status = list_heads(s);
    if (status == TULLE_OK)
        *out = s;
    else
        tulle__norm_source_free(s);
    return status;
}

void tulle__norm_source_free(tulle__norm_source *s)
{
    if (!s) return;
    if (s->head) drop_stolen(s);
    tulle__free(s->head);
    tulle__free(s->stolen);
    tulle__free(s->heads);
    tulle__free(s);
}

tulle__source *tulle__norm_source_over(tulle__norm_source *s, tulle__source *below)
{
    s->source.below = below;
    return &s->source;
}

size_t tulle__norm_source_held(const tulle__norm_source *s)
{
    if (!s) return 0;
    const size_t tiles = (size_t)count_tiles(s->operands);
    return sizeof *s + s->bytes + tiles * sizeof *s->head + (s->stolen ? tiles * sizeof *s->stolen : 0);
}

tulle__unfetched tulle__norm_source_count(const tulle__norm_source *s)
{
    return s ? s->unfetched : (tulle__unfetched){.blocks = 0};
}
