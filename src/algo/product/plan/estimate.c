/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/estimate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

/* Ranks of a column; rows taken of a tile row of C; rows of B whose ranks are exchanged at most. */
enum { RANKS = 16, SAMPLES = 128, NAMED_MOST = 1 << 19, PIECE = 1 << 20 };

/* Some rows of A: those where a walk over the sum of their weights, in equal steps, comes to rest. */
struct sample {
    const tulle_mat *A, *B;
    const int64_t *work;
    int64_t *row;   /* ascending */
    int *times;     /* how often the walk rests on it */
    int64_t *least; /* [count * RANKS]: the least ranks of the row of C */
    int64_t count;
    int32_t *slot;  /* [rows of B]: where its least ranks are; -1: it is not named */
    int64_t *ranks; /* [named * RANKS] */
    int64_t named;
};

static double weight(const struct sample *s, int64_t row)
{
    double most = (double)s->B->layout->n, work = (double)s->work[row];
    return work < most ? work : most;
}

/* As many rows of each tile row as that, fewer where it has few. */
static void choose_rows(struct sample *s, int samples)
{
    const tulle_layout *l = s->A->layout;
    s->count = 0;
    for (int i = 0; i < l->mt; i++) {
        double sum = 0, at = 0;
        for (int64_t r = l->row_cut[i]; r < l->row_cut[i + 1]; r++) sum += weight(s, r);
        double step = sum / samples, next = step / 2;
        for (int64_t r = l->row_cut[i]; sum > 0 && r < l->row_cut[i + 1]; r++) {
            int times = 0;
            for (at += weight(s, r); next < at; next += step) times++;
            if (!times) continue;
            s->row[s->count] = r;
            s->times[s->count++] = times;
        }
    }
}

/* The samples [*first, *last) in rows [from, to). */
static void find_samples(const struct sample *s, int64_t from, int64_t to, int64_t *first, int64_t *last)
{
    for (*first = 0; *first < s->count && s->row[*first] < from;) ++*first;
    for (*last = *first; *last < s->count && s->row[*last] < to;) ++*last;
}

typedef void (*visitor)(struct sample *s, int64_t sample, tulle_gidx named);

/* Every entry of a sampled row in own tiles of A: the row of B that it names. */
static tulle_status visit(struct sample *s, visitor call)
{
    const tulle_layout *l = s->A->layout;
    for (int i = 0; i < l->mt; i++) {
        int64_t first, last;
        find_samples(s, l->row_cut[i], l->row_cut[i + 1], &first, &last);
        for (int k = 0; k < l->nt; k++) {
            tulle_tile tile;
            if (!tulle__tile_is_mine(s->A, i, k)) continue;
            TULLE_CALL(tulle_mat_tile(s->A, i, k, &tile));
            for (int64_t j = first; tile.rowptr && j < last; j++) {
                int64_t r = s->row[j] - l->row_cut[i];
                for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++)
                    call(s, j, l->col_cut[k] + tile.colind[e]);
            }
        }
    }
    return TULLE_OK;
}

static void mark_named(struct sample *s, int64_t sample, tulle_gidx named)
{
    (void)sample;
    s->slot[named] = 0;
}

static void take_least(struct sample *s, int64_t sample, tulle_gidx named)
{
    const int64_t *ranks = s->ranks + (int64_t)s->slot[named] * RANKS;
    int64_t *least = s->least + sample * RANKS;
    for (int k = 0; k < RANKS; k++) least[k] = ranks[k] < least[k] ? ranks[k] : least[k];
}

static tulle_status reduce(tulle_comm *comm, tulle_reduction how, int64_t n, int64_t *value)
{
    for (int64_t at = 0; at < n; at += PIECE)
        TULLE_CALL(tulle_comm_reduce_int(comm, how, (int)(n - at < PIECE ? n - at : PIECE), value + at));
    return TULLE_OK;
}

/* Gives each row of B that some PE's samples name a slot. Marks travel as lanes of a sum, which never carry over. */
static tulle_status number_named(struct sample *s)
{
    TULLE__SCOPED int64_t *lanes = NULL;
    int64_t m = s->B->layout->m;
    int bits = s->A->comm->size < 256 ? 8 : 16, each = 64 / bits - 1; /* the highest lane would reach the sign */
    int64_t words = (m + each - 1) / each;
    TULLE_CALL(tulle__alloc_zero((size_t)words, sizeof *lanes, "rows that are named", &lanes));
    for (int64_t r = 0; r < m; r++)
        if (s->slot[r] == 0) lanes[r / each] |= (int64_t)1 << (r % each * bits);
    TULLE_CALL(reduce(s->A->comm, TULLE_SUM, words, lanes));
    s->named = 0;
    for (int64_t r = 0; r < m; r++) {
        int named = (lanes[r / each] >> (r % each * bits) & ((1 << bits) - 1)) != 0;
        s->slot[r] = named ? (int32_t)s->named++ : -1;
    }
    return TULLE_OK;
}

/* Fewer samples where they would name too many rows of B. */
static tulle_status choose(struct sample *s)
{
    for (int samples = SAMPLES; samples; samples /= 2) {
        choose_rows(s, samples);
        memset(s->slot, -1, (size_t)s->B->layout->m * sizeof *s->slot);
        TULLE_CALL(visit(s, mark_named));
        TULLE_CALL(number_named(s));
        if (s->named <= NAMED_MOST) return TULLE_OK;
    }
    s->count = s->named = 0;
    memset(s->slot, -1, (size_t)s->B->layout->m * sizeof *s->slot);
    return TULLE_OK;
}

/* Ranks of a column below 2^32, independent of one another as far as a mixing multiplication makes them so. */
static void rank_column(tulle_gidx column, int64_t *least)
{
    uint64_t mixed = tulle__random_mix((uint64_t)column + 0x9e3779b97f4a7c15u);
    uint32_t low = (uint32_t)mixed, high = (uint32_t)(mixed >> 32) | 1;
    for (uint32_t k = 0; k < RANKS; k++) {
        uint32_t x = low + k * high;
        x = (x ^ x >> 16) * 0x7feb352du;
        x = (x ^ x >> 15) * 0x846ca68bu;
        int64_t rank = (int64_t)(x ^ x >> 16);
        least[k] = rank < least[k] ? rank : least[k];
    }
}

static tulle_status rank_named(struct sample *s)
{
    const tulle_layout *l = s->B->layout;
    TULLE_CALL(tulle__alloc((size_t)(s->named ? s->named : 1), RANKS * sizeof *s->ranks, "least ranks", &s->ranks));
    for (int64_t i = 0; i < s->named * RANKS; i++) s->ranks[i] = INT64_MAX;
    TULLE__EACH_OWN_TILE(s->B, k, j) {
        tulle_tile tile;
        TULLE_CALL(tulle_mat_tile(s->B, k, j, &tile));
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++) {
            int32_t slot = s->slot[l->row_cut[k] + r];
            for (int64_t e = tile.rowptr[r]; slot >= 0 && e < tile.rowptr[r + 1]; e++)
                rank_column(l->col_cut[j] + tile.colind[e], s->ranks + (int64_t)slot * RANKS);
        }
    }
    return reduce(s->A->comm, TULLE_MIN, s->named * RANKS, s->ranks);
}

/* The least of n uniform numbers in (0, 1) has, as -log(1 - u), a mean of 1 / n: (K - 1) / the sum of K is n's. */
static double entries_of(const int64_t *least)
{
    double sum = 0;
    if (least[0] == INT64_MAX) return 0;
    for (int k = 0; k < RANKS; k++) sum -= log1p(-((double)least[k] + 0.5) * 0x1p-32);
    return (RANKS - 1) / sum;
}

static tulle_status find_ratios(struct sample *s, double *ratio)
{
    const tulle_layout *l = s->A->layout;
    for (int64_t i = 0; i < s->count * RANKS; i++) s->least[i] = INT64_MAX;
    TULLE_CALL(visit(s, take_least));
    TULLE_CALL(reduce(s->A->comm, TULLE_MIN, s->count * RANKS, s->least));
    for (int i = 0; i < l->mt; i++) {
        int64_t first, last;
        double sum = 0, all = 0;
        find_samples(s, l->row_cut[i], l->row_cut[i + 1], &first, &last);
        for (int64_t j = first; j < last; j++) {
            double part = entries_of(s->least + j * RANKS) / weight(s, s->row[j]);
            sum += s->times[j] * (part < 1 ? part : 1);
            all += s->times[j];
        }
        ratio[i] = all > 0 ? sum / all : 1;
    }
    return TULLE_OK;
}

static tulle_status estimate(struct sample *s, double *ratio)
{
    tulle_status status;
    size_t most = (size_t)s->A->layout->mt * SAMPLES;
    TULLE_TRY(tulle__alloc(most, sizeof *s->row, "sampled rows", &s->row));
    TULLE_TRY(tulle__alloc(most, sizeof *s->times, "sampled rows", &s->times));
    TULLE_TRY(tulle__alloc(most, RANKS * sizeof *s->least, "sampled rows", &s->least));
    TULLE_TRY(tulle__alloc((size_t)s->B->layout->m, sizeof *s->slot, "rows that are named", &s->slot));
    TULLE_TRY(choose(s));
    TULLE_TRY(rank_named(s));
    TULLE_TRY(find_ratios(s, ratio));
out:
    tulle__free(s->ranks);
    tulle__free(s->slot);
    tulle__free(s->least);
    tulle__free(s->times);
    tulle__free(s->row);
    return status;
}

tulle_status tulle__estimate_ratio(const tulle_mat *A, const tulle_mat *B, const int64_t *work, double *ratio)
{
    struct sample s = {.A = A, .B = B, .work = work};
    tulle__set_up_begin(A->comm);
    tulle_status status = tulle_comm_agree(A->comm, estimate(&s, ratio));
    tulle__set_up_end(A->comm);
    return status;
}
