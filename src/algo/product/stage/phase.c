/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/stage/phase.h"

#include "algo/product/plan/compressed_product.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/budget.h>

#include "algo/product/plan/estimate.h"
#include "algo/product/stage/stage.h"
#include "base/arg.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"
#include "tile/tile_blocks.h"

/*
 * The columns of C that are made at a time. Of a tile column of n columns these are [n lo / of, n hi / of), so that
 * each range has work for all PEs. Ranges follow each other from 0 to `of`, the widest tile column.
 */
struct phases {
    tulle__stage stage;
    tulle_gidx lo, hi, of; /* in C now, or being made */
    int guessed;           /* 1: its width follows from what an entry is thought to take */
    int number;            /* of the range, from 0 */
    tulle_gidx next;       /* where the next range begins */
    int expected;          /* ranges, when the plan was made */
    int fixed;             /* as many as the caller asked for; 0: as many as memory demands */
    /* bytes for a range on each PE, and bytes that an entry of C takes while it is made */
    double capacity, entry;
    tulle_gidx width; /* of the next range, as what the last one took suggests */
    tulle_gidx *end;  /* [known]: where ranges ended that fitted */
    int known, capacity_known;
    int dropped; /* ranges that did not fit, since the last execution began */
};

static struct phases *phases_of(const tulle_product *plan)
{
    return (struct phases *)tulle__stage_of(plan, &tulle__phases_stage);
}

enum { PHASES_MOST = 4096 };
static const double UNSURE = 1.5;   /* what an estimate of entries may be short of them */
static const double RECYCLED = 1.5; /* smaller phases, so that pages of those that are over can stay for the next */

/*
 * Cost of an entry of the result on the way, in entries, with what the heaps keep of phases that are over (the room
 * that they had lies scattered): itself, that of the phase before, and the kernel's room; step by step also the sum of
 * the steps before, which is merged with the next; where partial results travel also what is sent and what has come.
 * Resident memory then stays within the limit (34493 rows of 2/3 non-zeros on 4 PEs, limits of 8 to 19 GB).
 */
static double spare(const tulle_product *plan)
{
    if (plan->exchange.travels) return 7.5;
    return plan->policy->arrival == TULLE__ARRIVAL_SINGLY ? 3.5 : 5.5;
}

/* The longest row of a tile. */
static int64_t longest_of(const tulle__tile_format *format, const tulle_tile *tile)
{
    int64_t longest = 0, before = 0, until;
    if (tile->kind == TULLE_CSR) { /* many rows may be empty: nothing but their pointers is looked at */
        for (tulle_gidx r = 0; r < tile->m; r++) {
            const int64_t length = tile->rowptr[r + 1] - tile->rowptr[r];
            longest = length > longest ? length : longest;
        }
        return longest;
    }
    for (tulle_gidx r = 0; r < tile->m; r++, before = until) {
        until = format->entries_before(tile, r + 1);
        if (until - before > longest) longest = until - before;
    }
    return longest;
}

/* The longest row of a tile of B that is mine. */
static int64_t longest_row(const tulle_mat *B)
{
    int64_t longest = 0;
    TULLE__EACH_OWN_TILE(B, i, j) {
        tulle_tile tile;
        if (tulle_mat_tile(B, i, j, &tile) != TULLE_OK || !tile.nnz) continue;
        const int64_t here = longest_of(B->format, &tile);
        if (here > longest) longest = here;
    }
    return longest;
}

/* Entries of C that PE r holds, where rows have at most work[row] ratio[i] of them in tile row i, and full tiles. */
static double entries_held(const tulle_product *plan, int r, const int64_t *work, const double *ratio)
{
    const tulle__operands *o = &plan->operands;
    double entries = 0, all = (double)o->C->layout->n;
    for (int i = 0; i < o->M; i++) {
        double columns = 0;
        for (int j = 0; j < o->N; j++)
            if (tulle__layout_owner(o->C->layout, i, j) == r) columns += (double)tulle__tile_cols(o->C, j);
        if (columns == 0) continue;
        for (tulle_gidx row = o->A->layout->row_cut[i]; row < o->A->layout->row_cut[i + 1]; row++)
            entries += ratio[i] * columns * ((double)work[row] < all ? (double)work[row] / all : 1);
    }
    return entries;
}

/*
 * More phases than memory asks for may be faster: the pages of the first one serve all, need / p bytes of them at
 * `fresh` seconds each, while every phase looks at all entries of A and B again, at `again` seconds each. The sum is
 * least where p = sqrt(need fresh / (entries again)). Measured: fresh pages come at 0.6 to 10 GB/s, an entry takes 7 to
 * 20 ns.
 */
static double cheapest_cut(const tulle_product *plan, double need)
{
    static const double fresh = 1e-9, again = 20e-9;
    const tulle__operands *o = &plan->operands;
    double entries = (double)(o->A->nnz + o->B->nnz) / plan->comm->size;
    return entries > 0 ? sqrt(need * fresh / (entries * again)) : 1;
}

/* Phases for the PE that holds most, each within `capacity`. */
static int count_phases(const tulle_product *plan, double capacity, const int64_t *work, const double *ratio)
{
    double most = 0, entry = (double)(sizeof(tulle_lidx) + tulle_type_size(plan->C->type)) * spare(plan);
    for (int r = 0; r < plan->comm->size; r++) {
        double entries = entries_held(plan, r, work, ratio);
        if (entries > most) most = entries;
    }
    double cut = capacity > 0 ? most * entry / capacity : PHASES_MOST;
    if (cut > 1) cut = fmax(cut * RECYCLED, cheapest_cut(plan, most * entry));
    int phases = cut <= 1 ? 1 : cut >= PHASES_MOST ? PHASES_MOST : (int)cut + 1;
    return phases < plan->operands.C->layout->n ? phases : (int)plan->operands.C->layout->n;
}

/*
 * First by the multiplications; if these are too many, by how many of them an estimate expects to fall on entries that
 * there are already. Multiplications and ratios are the same on all PEs, `capacity` is the least of all.
 */
static tulle_status bound_result(tulle_product *plan, double capacity, int *phases)
{
    const tulle__operands *o = &plan->operands;
    TULLE__SCOPED int64_t *work = NULL;
    TULLE__SCOPED double *ratio = NULL;
    TULLE_CALL(tulle__alloc((size_t)o->A->layout->m, sizeof *work, "row flops", &work));
    TULLE_CALL(tulle__alloc((size_t)o->M, sizeof *ratio, "entries of tile rows", &ratio));
    TULLE_CALL(tulle_mat_row_flops(o->A, o->B, work));
    for (int i = 0; i < o->M; i++) ratio[i] = 1;
    *phases = count_phases(plan, capacity, work, ratio);
    if (*phases > 1 && !o->A->format->in_blocks) { /* of blocks there is no estimate */
        TULLE_CALL(tulle__estimate_ratio(o->A, o->B, work, ratio));
        for (int i = 0; i < o->M; i++) ratio[i] = ratio[i] * UNSURE < 1 ? ratio[i] * UNSURE : 1;
        *phases = count_phases(plan, capacity, work, ratio);
    }
    return TULLE_OK;
}

/* Most columns of a tile of C. */
static tulle_gidx widest(const tulle_mat *C)
{
    tulle_gidx most = 1;
    for (int j = 0; j < C->layout->nt; j++)
        if (tulle__tile_cols(C, j) > most) most = tulle__tile_cols(C, j);
    return most;
}

/*
 * Refuses a sparse product that memory does not suffice for even if C is made in ranges of few columns: what is held,
 * slices of B, and what a range takes until it is merged.
 */
static tulle_status check_memory(tulle_product *plan)
{
    static const double RANGE = 0.6, EACH = 1e6; /* of the operands, measured; of a PE */
    const tulle__operands *o = &plan->operands;
    tulle_comm *comm = plan->comm;
    tulle__account *account = comm->pe->account;
    double used = (double)tulle__account_used(account), most = used, limit = (double)tulle__account_limit(account);
    tulle_budget budget = {.needs = 0};
    if (!plan->sparse || limit == 0) return TULLE_OK; /* the same on all PEs */
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_SUM, 1, &used)));
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 1, &most)));
    double operands = (double)tulle_mat_bytes(o->A) + (double)tulle_mat_bytes(o->B);
    tulle_budget_add(&budget, "what is held", tulle__account_shares(account) ? used : most * comm->size);
    tulle_budget_add(&budget, "slices of B", 8 * (double)o->B->layout->m * comm->size);
    tulle_budget_add(&budget, "a range of C's columns", RANGE * operands + EACH * comm->size);
    return tulle_budget_check(&budget, limit * comm->size, "the product");
}

/* True if entries of C are selected as its rows are made, so that C is never whole. */
static bool selects_at_once(const tulle_product *plan)
{
    const tulle__policy *policy = plan->policy;
    return plan->options.selection && plan->ways.layers == 1 && policy->reach == TULLE__REACH_NONE &&
           policy->arrival == TULLE__ARRIVAL_SINGLY && plan->group >= plan->operands.K && !plan->exchange.travels;
}

/* Division of C: from the options, or from an upper bound of its size and the memory left. */
static tulle_status choose(struct phases *p)
{
    tulle_product *plan = p->stage.plan;
    tulle__account *account = plan->comm->pe->account;
    size_t left = tulle__account_left(account);
    int64_t longest = plan->sparse ? longest_row(plan->operands.B) : 0, tight = 0;
    p->of = p->hi = widest(plan->C);
    p->number = -1;
    p->expected = 1;
    p->fixed = plan->sparse && plan->options.phases > 0 ? plan->options.phases : 0;
    if (p->fixed > p->of) p->fixed = (int)p->of; /* no range is empty */
    p->capacity = (double)left;
    p->entry = (double)(sizeof(tulle_lidx) + tulle_type_size(plan->C->type)) * spare(plan);
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MAX, 1, &longest)));
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle_comm_reduce_real(plan->comm, TULLE_MIN, 1, &p->capacity)));
    if (plan->sparse && !p->fixed && left != SIZE_MAX && !plan->options.keep_pattern && !selects_at_once(plan)) {
        /* each entry of A brings at most a row of B; only if that might not fit are the multiplications counted */
        double most = (double)plan->operands.A->nnz * (double)longest * plan->operands.B->layout->nt;
        double full = (double)plan->C->layout->m * (double)plan->C->layout->n;
        tight = (most < full ? most : full) * p->entry > p->capacity;
    }
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MAX, 1, &tight)));
    if (tight) TULLE_CALL(tulle_comm_agree(plan->comm, bound_result(plan, p->capacity, &p->expected)));
    if (p->fixed) p->expected = p->fixed;
    p->width = p->of / p->expected > 0 ? p->of / p->expected : 1;
    return TULLE_OK;
}

static tulle_status ready(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    TULLE_CALL(check_memory(stage->plan));
    return choose((struct phases *)stage);
}

static void drop(tulle__stage *stage)
{
    tulle__free(((struct phases *)stage)->end);
}

static bool asked(const tulle_product *plan)
{
    (void)plan;
    return true;
}

static bool in_effect(const tulle_product *plan)
{
    return phases_of(plan)->expected > 1;
}

const tulle__stage_ops tulle__phases_stage = {.size = sizeof(struct phases),
    .asked = asked,
    .in_effect = in_effect,
    .at = {[TULLE__STAGE_READY] = ready},
    .free = drop};

int tulle_product_phases(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    if (plan->stages.compressed) plan = tulle__compressed_product_inner(plan);
    return phases_of(plan)->expected;
}

int tulle__phases_several(const tulle_product *plan)
{
    const struct phases *p = phases_of(plan);
    if (p->expected < 2 && !p->known) return 0;
    return p->expected > p->known ? p->expected : p->known;
}

tulle__phase_figures tulle__phases_figures(const tulle_product *plan)
{
    const struct phases *p = phases_of(plan);
    const tulle_gidx width = p->hi > p->lo ? p->hi - p->lo : 1;
    return (tulle__phase_figures){
        .columns = {.number = p->number, .last = p->hi == p->of, .from = p->lo, .to = p->hi, .of = p->of},
        .dropped = p->dropped,
        .ahead = p->fixed ? p->fixed - 1 - p->number : (p->of - p->hi + width - 1) / width};
}

void tulle__phases_rewind(tulle_product *plan)
{
    struct phases *p = phases_of(plan);
    p->next = 0;
    p->number = -1;
    p->dropped = 0;
}

void tulle__phases_begin(tulle_product *plan)
{
    struct phases *p = phases_of(plan);
    if (p->next == p->of) tulle__phases_rewind(plan);
    p->number++;
    p->lo = p->next;
    if (p->fixed)
        p->hi = p->number + 1 < p->fixed ? p->of * (p->number + 1) / p->fixed : p->of;
    else if (p->number < p->known)
        p->hi = p->end[p->number];
    else if (p->expected == 1 && !p->known && p->lo == 0)
        p->hi = p->of;
    else
        p->hi = p->of - p->lo < p->width + p->width / 4 ? p->of : p->lo + p->width;
    p->guessed = !p->fixed && p->number >= p->known && p->number > 0;
    plan->ways.whole = p->lo == 0 && p->hi == p->of;
}

int tulle__phases_halve(tulle_product *plan)
{
    static const double DEARER = 1.5; /* an entry takes more than was thought */
    struct phases *p = phases_of(plan);
    if (!plan->sparse || p->hi - p->lo < 2) return 0;
    p->hi = p->lo + (p->hi - p->lo) / 2;
    plan->ways.whole = false;
    if (p->guessed) p->entry *= DEARER;
    p->guessed = 0; /* narrower than was guessed: that it does not fit either tells nothing of the guess */
    p->known = p->number < p->known ? p->number : p->known;
    p->fixed = 0;
    p->dropped++;
    return 1;
}

/* Entries of the own tiles of C. */
static int64_t own_entries(tulle_product *plan)
{
    int64_t entries = 0;
    tulle_mat *C = plan->C;
    for (int i = 0; i < C->layout->mt; i++)
        for (int j = 0; j < C->layout->nt; j++) {
            tulle_tile tile;
            if (tulle__tile_is_mine(C, i, j) && tulle_mat_tile(C, i, j, &tile) == TULLE_OK) entries += tile.nnz;
        }
    return entries;
}

tulle_status tulle__phases_end(tulle_product *plan)
{
    static const double FILL = 0.7, FASTER = 4; /* the next columns may be fuller */
    struct phases *p = phases_of(plan);
    tulle_status status = TULLE_OK;
    p->next = p->hi;
    if (plan->ways.whole || p->fixed) return TULLE_OK;
    int64_t entries = own_entries(plan);
    if (p->number == p->known) { /* so that the next execution does not try again what does not fit */
        if (p->known == p->capacity_known) {
            int capacity = p->capacity_known ? 2 * p->capacity_known : 64;
            status = tulle__realloc((size_t)capacity, sizeof *p->end, "the ranges of columns", &p->end);
            if (status == TULLE_OK) p->capacity_known = capacity;
        }
        if (status == TULLE_OK) p->end[p->known++] = p->hi;
    }
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MAX, 1, &entries)));
    double took = (double)entries * p->entry, grow = took > 0 ? FILL * p->capacity / took : FASTER;
    double width = (double)(p->hi - p->lo) * fmin(grow, FASTER);
    p->width = width < 1 ? 1 : width < (double)p->of ? (tulle_gidx)width : p->of;
    return TULLE_OK;
}

void tulle__phase_columns(const tulle_product *plan, int j, tulle_gidx *lo, tulle_gidx *hi)
{
    const struct phases *p = phases_of(plan);
    tulle_gidx n = tulle__tile_cols(plan->C, j);
    *lo = n * p->lo / p->of;
    *hi = n * p->hi / p->of;
}

static tulle_gidx clamp(tulle_gidx x, tulle_gidx most)
{
    return x < 0 ? 0 : x < most ? x : most;
}

void tulle__phase_part(const tulle_product *plan, int j, tulle_gidx *lo, tulle_gidx *hi)
{
    const tulle_layout *whole = plan->C->layout, *parts = plan->operands.C->layout;
    tulle_gidx n = parts->col_cut[j + 1] - parts->col_cut[j];
    int tile = plan->operands.C != plan->C ? tulle__layout_find(whole->col_cut, whole->nt, parts->col_cut[j]) : j;
    tulle__phase_columns(plan, tile, lo, hi);
    tulle_gidx before = parts->col_cut[j] - whole->col_cut[tile];
    if (TULLE__PLANTED(wrong_columns)) *lo -= *lo > 0;
    *lo = clamp(*lo - before, n);
    *hi = clamp(*hi - before, n);
}

static int64_t lower_bound(const tulle_lidx *colind, int64_t low, int64_t high, tulle_gidx c)
{
    TULLE__PARTITION_POINT(low, high, middle, colind[middle] < c);
    return low;
}

/* Blocks whose first columns are in [lo, hi): they stay where they are, only their list is new. */
static tulle_status slice_blocks(const tulle_tile *tile, tulle_gidx lo, tulle_gidx hi, tulle__csr *slice, void **block)
{
    tulle_lidx first = 0, last = 0;
    int64_t count = 0, at = 0;
    while (first < tile->block_cols && tile->col_block[first] - tile->col_block[0] < lo) first++;
    for (last = first; last < tile->block_cols && tile->col_block[last] - tile->col_block[0] < hi;) last++;
    for (int64_t e = 0; tile->rowptr && e < tile->rowptr[tile->block_rows]; e++)
        count += tile->colind[e] >= first && tile->colind[e] < last;
    tulle__blocks_offsets o = tulle__vbsr_offsets_of(tile->block_rows, count, 0, tile->type);
    char *b;
    TULLE_CALL(tulle__alloc(o.length, 1, "the columns of a phase", &b));
    int64_t *rowptr = (int64_t *)(void *)b, *offset = (int64_t *)(void *)(b + o.offset);
    tulle_lidx *colind = (tulle_lidx *)(void *)(b + o.colind);
    double *norm = (double *)(void *)(b + o.norm);
    for (int64_t r = 0; r < tile->block_rows; r++) {
        int64_t height = tile->row_block[r + 1] - tile->row_block[r];
        rowptr[r] = at;
        for (int64_t e = tile->rowptr ? tile->rowptr[r] : 0; tile->rowptr && e < tile->rowptr[r + 1]; e++) {
            tulle_lidx c = tile->colind[e];
            if (c < first || c >= last) continue;
            colind[at] = c;
            offset[at] = tulle__block_at(tile, e, height * (tile->col_block[c + 1] - tile->col_block[c]));
            norm[at++] = tile->norm ? tile->norm[e] : 0;
        }
    }
    rowptr[tile->block_rows] = at;
    *slice = tulle__tile_csr(tile);
    slice->m = tile->block_rows;
    slice->rowptr = rowptr;
    slice->colind = colind;
    slice->offset = offset;
    slice->norm = tile->norm ? norm : NULL;
    *block = b;
    return TULLE_OK;
}

tulle_status tulle__phase_slice(const tulle_tile *tile, tulle_gidx lo, tulle_gidx hi, tulle__csr *slice, void **block)
{
    size_t size = tulle_type_size(tile->type);
    int64_t nnz = 0;
    if (tile->row_block) return slice_blocks(tile, lo, hi, slice, block);
    for (tulle_gidx r = 0; r < tile->m; r++) {
        int64_t from = lower_bound(tile->colind, tile->rowptr[r], tile->rowptr[r + 1], lo);
        nnz += lower_bound(tile->colind, from, tile->rowptr[r + 1], hi) - from;
    }
    tulle__csr_offsets o = tulle__csr_offsets_of(tile->m, nnz, tile->type);
    char *b;
    TULLE_CALL(tulle__alloc(o.length, 1, "the columns of a phase", &b));
    int64_t *rowptr = (int64_t *)(void *)b, at = 0;
    tulle_lidx *colind = (tulle_lidx *)(void *)(b + o.colind);
    for (tulle_gidx r = 0; r < tile->m; r++) {
        int64_t from = lower_bound(tile->colind, tile->rowptr[r], tile->rowptr[r + 1], lo);
        int64_t count = lower_bound(tile->colind, from, tile->rowptr[r + 1], hi) - from;
        rowptr[r] = at;
        memcpy(colind + at, tile->colind + from, (size_t)count * sizeof *colind);
        memcpy(b + o.val + (size_t)at * size, (const char *)tile->val + (size_t)from * size, (size_t)count * size);
        at += count;
    }
    rowptr[tile->m] = at;
    *slice = (tulle__csr){.m = tile->m, .n = tile->n, .rowptr = rowptr, .colind = colind, .val = b + o.val};
    *block = b;
    return TULLE_OK;
}
