/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ILU(0) and IC(0), top down: A in tiles of rows, on PE 0 if required; patterns and memory;
 * attempts; the report.
 */
#include <inttypes.h>
#include <string.h>

#include "algo/factor/eliminate.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/context.h"

enum { DOUBLINGS = 64 };

static const struct {
    const char *name, *diagonal; /* the defect of a diagonal, and its remedy */
    const char *pivot[TULLE__PIVOT_FINE];
    const char *remedy; /* the remedy for a pivot that is zero or has the wrong sign */
} words[] = {
    [TULLE__ILU0] = {"ILU(0)",
        "no entry on the diagonal; it gets one with a floor for pivots (as by `solve --precond ilu0:floor=auto`), or "
        "put rows in another order",
        {[TULLE__PIVOT_ZERO] = "zero", [TULLE__PIVOT_NEGATIVE] = "negative", [TULLE__PIVOT_WILD] = "not finite"},
        "a floor for pivots lifts it, as by `solve --precond ilu0:floor=auto`"},
    [TULLE__IC0] = {"IC(0)",
        "no positive entry on the diagonal, so that A is not positive definite; ilu0 is for such matrices",
        {[TULLE__PIVOT_ZERO] = "zero", [TULLE__PIVOT_NEGATIVE] = "not positive", [TULLE__PIVOT_WILD] = "not finite"},
        "a shift of the diagonal may make all pivots positive, as by `solve --precond ic0:shift=auto`"},
};

struct factoring {
    tulle_comm *comm;
    tulle__factor_kind kind;
    tulle_factor_options options;
    tulle_factor_report report;
    int shared;         /* all PEs participate */
    int here;           /* this PE participates */
    const tulle_mat *A; /* in tiles of rows */
    tulle_mat *copy;    /* the matrix that A points to, or NULL: the caller's */
    tulle_mat *L, *U;
    tulle__place words, order; /* blocks of this PE */
    tulle_tile *tile;          /* of A, [mt] */
    tulle_own_tile *factor;    /* of L and U, [2 mt] */
    tulle__elimination e;
};

/* ---- redistribution of A ---- */

/* Tiles of rows with these cuts, all on PE 0 or one on each PE. */
static tulle_status row_layout(
    const tulle_layout *of, int mt, const tulle_gidx *cut, const int *owner, int npes, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = of->m,
        .n = of->n,
        .grid_rows = npes,
        .grid_cols = 1,
        .tile_rows = mt,
        .tile_cols = 1,
        .row_cut = cut,
        .owner = owner};
    return tulle_layout_new(&spec, npes, layout);
}

static tulle_status even_layout(const tulle_mat *A, tulle_layout **layout)
{
    tulle_status status;
    tulle_comm *comm = A->comm;
    int64_t *weight = NULL;
    tulle_gidx *cut = NULL;
    TULLE_TRY(tulle__alloc((size_t)A->layout->m, sizeof *weight, "entries of rows", &weight));
    TULLE_TRY(tulle__alloc((size_t)comm->size + 1, sizeof *cut, "cuts of rows", &cut));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_mat_row_nnz(A, weight);
    if (status == TULLE_OK) {
        tulle_cuts_weighted(A->layout->m, weight, comm->size, cut);
        status = tulle_comm_agree(comm, row_layout(A->layout, comm->size, cut, NULL, comm->size, layout));
    }
    tulle__free(weight);
    tulle__free(cut);
    return status;
}

/* The layout of A's tiles of rows with all of them on PE 0. */
static tulle_status gathered_layout(const tulle_mat *A, tulle_layout **layout)
{
    int *owner = NULL;
    tulle_status status = tulle__alloc_zero((size_t)A->layout->mt, sizeof *owner, "owners", &owner);
    if (status == TULLE_OK)
        status = row_layout(A->layout, A->layout->mt, A->layout->row_cut, owner, A->comm->size, layout);
    tulle__free(owner);
    return tulle_comm_agree(A->comm, status);
}

/*
 * Redistributes `from` into *copy and frees the previous *copy, which `from` may be. Collective,
 * agreed.
 */
static tulle_status redistribute(const tulle_mat *from, const tulle_layout *layout, tulle_mat **copy)
{
    tulle_mat *moved = NULL;
    TULLE_CALL(tulle_mat_redistribute(from, layout, &moved));
    /* all PEs have agreed that the new copy is complete: no PE reads the old one */
    if (*copy) tulle__mat_drop(*copy);
    *copy = moved;
    return TULLE_OK;
}

/* ---- participants ---- */

/*
 * Allocates a word a thread in this PE's control memory. Finds out whether this PE reaches the
 * words of all, and all of A.
 */
static tulle_status publish_words(struct factoring *f, int threads, int *reached)
{
    tulle_comm *comm = f->comm;
    TULLE__SCOPED uint64_t *offset = NULL;
    size_t bytes = (size_t)threads * sizeof(tulle__progress_word);
    TULLE_CALL(tulle__alloc((size_t)comm->size, sizeof *offset, "places of words", &offset));
    TULLE_CALL(
        tulle__alloc((size_t)comm->size * (size_t)threads, sizeof *f->e.progress, "places of words", &f->e.progress));
    TULLE_CALL(tulle__heap_take(comm->pe->control, bytes, "words of workers", &f->words));
    f->e.own = tulle__mapped(comm, &f->words);
    TULLE_CALL(tulle__comm_share(comm, &f->words, offset));
    *reached = !tulle__is_virtual(comm);
    for (int pe = 0; pe < comm->size; pe++) {
        tulle__place place = {
            .offset = offset[pe], .length = bytes, .rank = tulle__comm_world(comm, pe), .segment = TULLE__CONTROL};
        tulle__progress_word *word = tulle__mapped(comm, &place);
        *reached = *reached && word;
        for (int t = 0; t < threads && word; t++) f->e.progress[pe * threads + t] = &word[t];
    }
    for (int t = 0; t < f->A->layout->mt; t++)
        if (f->A->directory[t].place.length && !tulle__tile_mapped(f->A, t, 0)) *reached = 0;
    return TULLE_OK;
}

static tulle_status find_workers(struct factoring *f)
{
    tulle_status status;
    tulle_comm *comm = f->comm;
    tulle__context *context = NULL;
    int reached = 0;
    status = tulle__context_get(comm, &context);
    int64_t least = status == TULLE_OK && !tulle__is_virtual(comm) ? tulle__pool_size(context->pool) : 1;
    if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_MIN, 1, &least);
    if (status == TULLE_OK) status = publish_words(f, (int)least, &reached);
    int64_t all = reached;
    if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_MIN, 1, &all);
    TULLE_CALL(tulle_comm_agree(comm, status));
    f->shared = all || comm->size == 1;
    f->here = f->shared || comm->rank == 0;
    f->e.pool = context->pool;
    f->e.threads = f->here ? (int)least : 0;
    f->e.workers = (int)least * (f->shared ? comm->size : 1);
    f->e.first = f->shared ? comm->rank * (int)least : 0;
    return TULLE_OK;
}

/* ---- the factors ---- */

/*
 * Allocates both factors, with A's layout and patterns. The first row with an unsuitable diagonal
 * is an error. Collective, no agreement.
 */
static tulle_status place_factors(struct factoring *f)
{
    const tulle_mat *A = f->A;
    int64_t least[2]; /* that row, and minus the longest length */
    TULLE_CALL(tulle__mat_make(f->comm, A->layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &f->L));
    if (f->kind == TULLE__ILU0)
        TULLE_CALL(tulle__mat_make(f->comm, A->layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &f->U));
    TULLE_CALL(tulle__factor_patterns(A, f->L, f->U, &least[0], &least[1]));
    least[1] = -least[1];
    TULLE_CALL(tulle_comm_reduce_int(f->comm, TULLE_MIN, 2, least));
    if (least[0] != INT64_MAX)
        return tulle__fail(
            TULLE_ERR_ARG, "%s: row " TULLE__AT " has %s", words[f->kind].name, least[0], words[f->kind].diagonal);
    f->e.longest = -least[1];
    TULLE_CALL(tulle__mat_publish(f->L));
    if (f->U) TULLE_CALL(tulle__mat_publish(f->U));
    return TULLE_OK;
}

/* PE 0 computes the order, and all participants read it there. Collective, no agreement. */
static tulle_status publish_order(struct factoring *f)
{
    tulle_comm *comm = f->comm;
    size_t n = (size_t)f->e.n;
    int32_t *order;
    tulle__place place = {.length = 0};
    if (f->e.workers == 1 || n == 0) return TULLE_OK;
    if (comm->rank == 0) {
        TULLE_CALL(tulle__heap_take(comm->pe->data, 2 * n * sizeof *order, "the order of rows", &f->order));
        place = f->order;
        order = tulle__mapped(comm, &place);
        TULLE_CALL(tulle__factor_order(f->e.n, f->e.mt, f->e.cut, f->e.L, order, order + n));
    }
    if (f->shared) TULLE_CALL(tulle_comm_broadcast(comm, 0, &place, sizeof place));
    if (f->here) {
        order = tulle__mapped(comm, &place);
        f->e.order = order;
        f->e.rank = order + n;
    }
    return TULLE_OK;
}

static tulle_status prepare(struct factoring *f)
{
    tulle__elimination *e = &f->e;
    int mt = f->A->layout->mt;
    e->comm = f->comm;
    e->kind = f->kind;
    e->name = words[f->kind].name;
    e->type = f->A->type;
    e->n = f->A->layout->n;
    e->mt = mt;
    e->cut = f->A->layout->row_cut;
    e->floor = f->options.floor;
    TULLE_CALL(place_factors(f));
    if (f->here) {
        TULLE_CALL(tulle__alloc_zero((size_t)mt, sizeof *f->tile, "tiles", &f->tile));
        TULLE_CALL(tulle__alloc_zero(2 * (size_t)mt, sizeof *f->factor, "tiles", &f->factor));
        for (int t = 0; t < mt; t++) {
            f->tile[t] = tulle__tile_in_place(f->A, t, 0);
            f->factor[t] = tulle__own_tile_in_place(f->L, t, 0);
            if (f->U) f->factor[mt + t] = tulle__own_tile_in_place(f->U, t, 0);
        }
        e->A = f->tile;
        e->L = f->factor;
        e->U = f->factor + mt;
    }
    TULLE_CALL(publish_order(f));
    if (f->here) TULLE_CALL(tulle__elimination_init(e));
    return TULLE_OK;
}

/* ---- attempts ---- */

/* One factorisation; combines the results of all PEs' workers. Collective, no agreement. */
static tulle_status attempt(struct factoring *f, double alpha, int64_t *bad, int64_t *first_lifted, int64_t *lifted)
{
    tulle__elimination *e = &f->e;
    int64_t least[2] = {INT64_MAX, INT64_MAX};
    e->alpha = alpha;
    *lifted = 0;
    if (f->here) tulle__elimination_reset(e);
    if (f->shared) TULLE_CALL(tulle_comm_barrier(f->comm));
    if (f->here) TULLE_CALL(tulle__elimination_run(e));
    for (int t = 0; t < e->threads; t++) {
        const tulle__eliminator *w = &e->eliminator[t];
        if (w->bad < least[0]) least[0] = w->bad;
        if (w->first_lifted < least[1]) least[1] = w->first_lifted;
        *lifted += w->lifted;
    }
    TULLE_CALL(tulle_comm_reduce_int(f->comm, TULLE_MIN, 2, least));
    TULLE_CALL(tulle_comm_reduce_int(f->comm, TULLE_SUM, 1, lifted));
    *bad = least[0];
    *first_lifted = least[1];
    return TULLE_OK;
}

/* Reports row `row`, with the remedy for its pivot unless it was tried. */
static tulle_status refuse_pivot(const struct factoring *f, int64_t row, int fault)
{
    int asked = f->kind == TULLE__IC0 ? f->options.shift > 0 : f->options.floor > 0;
    const char *remedy = asked || fault == TULLE__PIVOT_WILD ? NULL : words[f->kind].remedy;
    return tulle__fail(TULLE_ERR_ARG, "%s: the pivot of row " TULLE__AT " is %s%s%s%s", words[f->kind].name, row,
        words[f->kind].pivot[fault], f->report.tries > 1 ? ", with any shift" : "", remedy ? "; " : "",
        remedy ? remedy : "");
}

static tulle_status attempts(struct factoring *f)
{
    tulle_factor_report *report = &f->report;
    int64_t bad, first_lifted;
    report->row = -1;
    report->workers = f->e.workers;
    for (report->tries = 1;; report->tries++) {
        TULLE_CALL(attempt(f, report->alpha, &bad, &first_lifted, &report->lifted));
        if (bad == INT64_MAX) break;
        if (report->row < 0) report->row = bad / TULLE__PIVOT_FINE;
        if (f->kind != TULLE__IC0 || f->options.shift <= 0 || report->tries > DOUBLINGS)
            return refuse_pivot(f, bad / TULLE__PIVOT_FINE, (int)(bad % TULLE__PIVOT_FINE));
        report->alpha = report->tries == 1 ? f->options.shift : 2 * report->alpha;
    }
    if (f->kind == TULLE__ILU0 && report->lifted) report->row = first_lifted;
    return TULLE_OK;
}

/* ---- public calls ---- */

static void fini(struct factoring *f)
{
    tulle__elimination_fini(&f->e);
    tulle__free(f->e.progress);
    tulle__free(f->tile);
    tulle__free(f->factor);
    if (f->words.length) tulle__heap_give(f->comm->pe->control, &f->words);
    if (f->order.length) tulle__heap_give(f->comm->pe->data, &f->order);
    if (f->copy) tulle__mat_drop(f->copy);
    tulle__mat_drop(f->L);
    tulle__mat_drop(f->U);
}

static tulle_status check(const tulle_mat *A, const struct factoring *f)
{
    const char *name = words[f->kind].name;
    if (A->kind != TULLE_CSR) return tulle__fail(TULLE_ERR_ARG, "%s needs a sparse matrix", name);
    if (A->layout->m != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "%s needs a square matrix, not one of %" PRId64 " x %" PRId64, name,
            A->layout->m, A->layout->n);
    int32_t narrow;
    TULLE_CALL(tulle__narrow(A->layout->n, "the number of columns of a factor", &narrow));
    if (!(f->options.floor >= 0 && f->options.floor <= 1))
        return tulle__fail(TULLE_ERR_ARG, "%s: the floor %g is not within 0 to 1", name, f->options.floor);
    if (!(f->options.shift >= 0 && f->options.shift <= 1e6))
        return tulle__fail(TULLE_ERR_ARG, "%s: the shift %g is not within 0 to 1e6", name, f->options.shift);
    const bool unread = f->kind == TULLE__IC0 ? f->options.floor > 0 : f->options.shift > 0;
    if (unread)
        return tulle__fail(TULLE_ERR_ARG, "options.%s is read by %s only, not by %s",
            f->kind == TULLE__IC0 ? "floor" : "shift", words[f->kind == TULLE__IC0 ? TULLE__ILU0 : TULLE__IC0].name,
            name);
    return tulle__wants_values(A->comm, name);
}

/* Collective; A has tiles of rows. */
static tulle_status factorise_rows(struct factoring *f)
{
    tulle_status status;
    tulle_layout *gathered = NULL, *back = NULL;
    TULLE_TRY(find_workers(f));
    if (!f->shared) {
        TULLE_TRY(tulle_comm_agree(f->comm, tulle_layout_copy(f->A->layout, &back)));
        TULLE_TRY(gathered_layout(f->A, &gathered));
        TULLE_TRY(redistribute(f->A, gathered, &f->copy));
        f->A = f->copy;
    }
    status = prepare(f);
    if (status == TULLE_OK) status = attempts(f);
    TULLE_TRY(tulle_comm_agree(f->comm, status));
    if (!f->shared) TULLE_TRY(redistribute(f->L, back, &f->L));
    if (!f->shared && f->U) TULLE_TRY(redistribute(f->U, back, &f->U));
out:
    tulle_layout_free(gathered);
    tulle_layout_free(back);
    return status;
}

/* The defaults, where nothing better is known of a matrix: a floor, and an initial shift. */
static const double FLOOR = 1e-3, SHIFT = 1e-3;

static tulle_status factorise(const tulle_mat *A, tulle__factor_kind kind, const tulle_factor_options *options,
    tulle_mat **L, tulle_mat **U, tulle_factor_report *report)
{
    struct factoring f = {.comm = A->comm, .kind = kind, .A = A, .options = *options};
    if (f.options.floor == TULLE_AUTO) f.options.floor = FLOOR;
    if (f.options.shift == TULLE_AUTO) f.options.shift = SHIFT;
    tulle_layout *rows = NULL;
    tulle_status status;
    TULLE_TRY(check(A, &f)); /* the same outcome on all PEs */
    TULLE_TRY(tulle__mat_order(A));
    if (A->layout->nt > 1) {
        TULLE_TRY(even_layout(A, &rows));
        TULLE_TRY(redistribute(f.A, rows, &f.copy));
        f.A = f.copy;
    }
    if (kind == TULLE__ILU0 && f.options.floor > 0) {
        tulle_mat *whole;
        TULLE_TRY(tulle__factor_whole_diagonal(f.A, &whole));
        if (whole) {
            if (f.copy) tulle__mat_drop(f.copy);
            f.A = f.copy = whole;
        }
    }
    TULLE_TRY(factorise_rows(&f));
    *L = f.L;
    if (U) *U = f.U;
    if (report) *report = f.report;
    f.L = f.U = NULL;
out:
    fini(&f);
    tulle_layout_free(rows);
    return status;
}

tulle_status tulle_factor_ilu0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_mat **U, tulle_factor_report *report)
{
    tulle_factor_options own;
    if (TULLE__NULL(A) || TULLE__NULL(L) || TULLE__NULL(U) || TULLE__OPTIONS(options, &own, shift))
        return tulle__refuse(A ? A->comm : NULL);
    return factorise(A, TULLE__ILU0, options, L, U, report);
}

tulle_status tulle_factor_ic0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_factor_report *report)
{
    tulle_factor_options own;
    if (TULLE__NULL(A) || TULLE__NULL(L) || TULLE__OPTIONS(options, &own, shift))
        return tulle__refuse(A ? A->comm : NULL);
    return factorise(A, TULLE__IC0, options, L, NULL, report);
}
