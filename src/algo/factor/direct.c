/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct factors: A is gathered on PE 0, a library factorises it into columns there, and these
 * become matrices.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "algo/factor/library.h"
#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "base/options.h"
#include "base/spec.h"
#include "base/words/names.h"
#include "mat/mat.h"
#include "tile/element.h"

TULLE__WORDS(names, TULLE_ELIMINATION_LIST);
TULLE__PARSE(tulle_elimination, elimination, names, "order of elimination")

/* Owned by the team, so that a body that fails leaks nothing. */
struct direct {
    tulle_direct factors; /* first member: the caller's handle */
    tulle__owned owned;
    tulle_comm *comm;
};

enum kind { LU, CHOLESKY };
static const char *const kind_name[] = {[LU] = "LU", [CHOLESKY] = "Cholesky"};

static tulle_status find_library(const char *name, const tulle__direct_library **library)
{
    const tulle__module *module = NULL;
    char cause[TULLE_MESSAGE_MAX];
    if (!name) name = "suitesparse";
    tulle_status status = tulle__module_load(name, &module);
    if (status == TULLE_OK && !module->direct)
        return tulle__fail(TULLE_ERR_ARG, "the module '%s' is not a direct solver", name);
    if (status == TULLE_OK) *library = module->direct;
    if (status != TULLE_ERR_UNSUPPORTED) return status;
    snprintf(cause, sizeof cause, "%s", tulle__error_marked());
    return tulle__fail(status,
        "direct factors need a module that is built where SuiteSparse is installed (libsuitesparse-dev): %.350s",
        cause);
}

bool tulle_direct_usable(const char *library)
{
    const tulle__direct_library *found;
    return find_library(library, &found) == TULLE_OK;
}

/* ---- from the library ---- */

/* A row of a CSR tile without entries has no arrays. */
static tulle_status read_tile(const tulle_tile *A, tulle__factor_columns *to)
{
    TULLE_CALL(tulle__alloc_zero((size_t)A->m + 1, sizeof *to->ptr, "the matrix for a direct solver", &to->ptr));
    TULLE_CALL(tulle__alloc((size_t)A->nnz, sizeof *to->row, "the matrix for a direct solver", &to->row));
    TULLE_CALL(tulle__alloc((size_t)A->nnz, sizeof *to->val, "the matrix for a direct solver", &to->val));
    if (!A->nnz) return TULLE_OK;
    memcpy(to->ptr, A->rowptr, ((size_t)A->m + 1) * sizeof *to->ptr);
    for (int64_t e = 0; e < A->nnz; e++) {
        to->row[e] = A->colind[e];
        to->val[e] = tulle__tile_element(A, e);
    }
    return TULLE_OK;
}

/*
 * Fills the only tile of F from columns in order, so that the entries of each row ascend. Omits the
 * diagonal if its ones are not stored.
 */
static tulle_status fill(
    tulle_mat *F, const tulle__factor_columns *from, int unit, const tulle__direct_work *work, enum kind k)
{
    tulle_own_tile tile;
    TULLE__SCOPED int64_t *next = NULL;
    int64_t n = work->n;
    TULLE_CALL(tulle__alloc_zero((size_t)n + 1, sizeof *next, "rows of a factor", &next));
    for (int64_t c = 0; c < n; c++)
        for (int64_t e = from->ptr[c]; e < from->ptr[c + 1]; e++)
            if (!unit || from->row[e] != c) next[from->row[e] + 1]++;
    for (int64_t r = 0; r < n; r++) next[r + 1] += next[r];
    if (!next[n]) return TULLE_OK; /* an empty tile has no block */
    TULLE_CALL(tulle__mat_place(F, 0, 0, next[n], &tile));
    memcpy(tile.rowptr, next, ((size_t)n + 1) * sizeof *next);
    for (int64_t c = 0; c < n; c++)
        for (int64_t e = from->ptr[c]; e < from->ptr[c + 1]; e++) {
            if (unit && from->row[e] == c) continue;
            int64_t at = next[from->row[e]]++;
            double x = F->type == TULLE_F32 ? (double)(float)from->val[e] : from->val[e];
            if (!isfinite(x))
                return tulle__fail(TULLE_ERR_ARG, "%s: the factors are not finite: column " TULLE__AT, kind_name[k],
                    (int64_t)work->col[c]);
            (tile.colind)[at] = (tulle_lidx)c;
            tulle__element_set(F->type, tile.val, at, x);
        }
    return TULLE_OK;
}

static void columns_fini(tulle__factor_columns *columns)
{
    tulle__free(columns->ptr);
    tulle__free(columns->row);
    tulle__free(columns->val);
    *columns = (tulle__factor_columns){.ptr = NULL};
}

/* A library's work, which looks at no signals. */
struct factorisation {
    const tulle__direct_library *library;
    enum kind kind;
    tulle__direct_work *work;
};

static tulle_status run_library(void *arg)
{
    const struct factorisation *f = arg;
    return (f->kind == LU ? f->library->lu : f->library->cholesky)(tulle__module_host_table(), f->work);
}

/*
 * On PE 0: factorises A's only tile, read as columns for LU and as rows for Cholesky, into `work`.
 */
static tulle_status make(const tulle_mat *A, enum kind kind, const tulle_direct_options *options, struct direct *d)
{
    tulle_status status;
    const tulle__direct_library *library = NULL;
    tulle_tile tile = tulle__tile_in_place(A, 0, 0);
    tulle_direct *f = &d->factors;
    tulle__direct_work work = {
        .n = f->n, .elimination = options->elimination, .threshold = options->threshold > 0 ? options->threshold : 0.1};
    TULLE_TRY(find_library(options->library, &library));
    TULLE_TRY(read_tile(&tile, &work.A));
    int64_t start = tulle__now(d->comm), ns = 0;
    TULLE_TRY(tulle__attend_beside(run_library, &(struct factorisation){library, kind, &work}));
    TULLE_TRY(tulle__attend());
    tulle__part_end(d->comm, kind_name[kind], start, &ns);
    columns_fini(&work.A);
    TULLE_TRY(fill(f->L, &work.L, kind == LU, &work, kind));
    columns_fini(&work.L);
    if (kind == LU) TULLE_TRY(fill(f->U, &work.U, 0, &work, kind));
    memcpy(f->row, work.row, (size_t)f->n * sizeof *f->row);
    memcpy(f->col, work.col, (size_t)f->n * sizeof *f->col);
    if (f->scale) memcpy(f->scale, work.scale, (size_t)f->n * sizeof *f->scale);
out:
    columns_fini(&work.A);
    columns_fini(&work.L);
    columns_fini(&work.U);
    tulle__free(work.row);
    tulle__free(work.col);
    tulle__free(work.scale);
    return status;
}

/* ---- public calls ---- */

static tulle_status check(const tulle_mat *A, enum kind kind, const tulle_direct_options *options)
{
    const char *name = kind_name[kind];
    int32_t narrow;
    if (A->kind != TULLE_CSR) return tulle__fail(TULLE_ERR_ARG, "%s needs a sparse matrix", name);
    if (A->layout->m != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "%s needs a square matrix, not one of %" PRId64 " x %" PRId64, name,
            A->layout->m, A->layout->n);
    TULLE_CALL(tulle__narrow(A->layout->n, "the number of columns of a factor", &narrow));
    if (!(options->threshold >= 0 && options->threshold <= 1))
        return tulle__fail(TULLE_ERR_ARG, "the threshold %g is not within 0 to 1", options->threshold);
    if (kind == CHOLESKY && options->threshold > 0)
        return tulle__fail(
            TULLE_ERR_ARG, "options.threshold is read by LU only, not by Cholesky, which takes no pivots");
    if ((unsigned)options->elimination >= TULLE_ELIMINATION_COUNT)
        return tulle__fail(TULLE_ERR_ARG, "unknown elimination order %d", (int)options->elimination);
    if (kind == CHOLESKY && options->elimination == TULLE_ELIMINATE_COLAMD)
        return tulle__fail(TULLE_ERR_ARG, "the order colamd is for LU only");
    return tulle__wants_values(A->comm, name);
}

/* Gathers a copy of A, or of its transpose, in one tile on PE 0. Collective. */
static tulle_status gather(const tulle_mat *A, enum kind kind, tulle_layout **layout, tulle_mat **brought)
{
    static const int first = 0;
    tulle_layout_spec spec = {.m = A->layout->m, .n = A->layout->n, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    tulle_mat *rows = NULL;
    tulle_status status = tulle_comm_agree(A->comm, tulle_layout_new(&spec, A->comm->size, layout));
    if (status == TULLE_OK) status = tulle_mat_redistribute(A, *layout, &rows);
    if (kind == CHOLESKY || status != TULLE_OK) {
        *brought = rows;
        return status;
    }
    status = tulle_mat_transpose(rows, brought);
    tulle_mat_free(rows);
    return status;
}

static void drop(struct direct *d)
{
    tulle__free(d->factors.row);
    tulle__free(d->factors.col);
    tulle__free(d->factors.scale);
    tulle__free(d);
}

static void drop_owned(tulle__owned *object)
{
    drop((struct direct *)(void *)((char *)object - offsetof(struct direct, owned)));
}

/* Prepares this PE's part of the result. */
static tulle_status prepare(tulle_comm *comm, tulle_gidx n, enum kind kind, struct direct **out)
{
    struct direct *d = NULL;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *d, "factors", &d));
    *out = d;
    d->comm = comm;
    d->factors.n = n;
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *d->factors.row, "a permutation", &d->factors.row));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *d->factors.col, "a permutation", &d->factors.col));
    if (kind == LU) TULLE_CALL(tulle__alloc((size_t)n, sizeof *d->factors.scale, "scales of rows", &d->factors.scale));
    return TULLE_OK;
}

/* Distributes the result. Collective, without a final agreement. */
static tulle_status distribute(struct direct *d)
{
    tulle_direct *f = &d->factors;
    size_t n = (size_t)f->n;
    TULLE_CALL(tulle__mat_publish(f->L));
    if (f->U) TULLE_CALL(tulle__mat_publish(f->U));
    if (!n) return TULLE_OK;
    TULLE_CALL(tulle_comm_broadcast(d->comm, 0, f->row, n * sizeof *f->row));
    TULLE_CALL(tulle_comm_broadcast(d->comm, 0, f->col, n * sizeof *f->col));
    if (f->scale) TULLE_CALL(tulle_comm_broadcast(d->comm, 0, f->scale, n * sizeof *f->scale));
    return TULLE_OK;
}

static tulle_status factorise(
    const tulle_mat *A, enum kind kind, const tulle_direct_options *options, tulle_direct **factors)
{
    tulle_comm *comm = A->comm;
    tulle_layout *layout = NULL;
    tulle_mat *brought = NULL;
    struct direct *d = NULL;
    tulle_status status;
    TULLE_TRY(check(A, kind, options)); /* the same outcome on all PEs */
    TULLE_TRY(tulle__mat_order(A));
    TULLE_TRY(gather(A, kind, &layout, &brought));
    status = prepare(comm, A->layout->n, kind, &d);
    if (status == TULLE_OK) status = tulle__mat_make(comm, layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &d->factors.L);
    if (status == TULLE_OK && kind == LU)
        status = tulle__mat_make(comm, layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &d->factors.U);
    if (status == TULLE_OK && comm->rank == 0 && d->factors.n) status = make(brought, kind, options, d);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_agree(comm, distribute(d)));
    tulle__pe_own(comm->pe, &d->owned, drop_owned);
    *factors = &d->factors;
    d = NULL;
out:
    if (d) {
        tulle__mat_drop(d->factors.L);
        tulle__mat_drop(d->factors.U);
        drop(d);
    }
    tulle_mat_free(brought);
    tulle_layout_free(layout);
    return status;
}

tulle_status tulle_direct_lu(const tulle_mat *A, const tulle_direct_options *options, tulle_direct **factors)
{
    tulle_direct_options own;
    if (TULLE__NULL(A) || TULLE__OPTIONS(options, &own, library) ||
        TULLE__OUTSIDE(options->elimination, TULLE_ELIMINATION_COUNT - 1) || TULLE__NULL(factors))
        return tulle__refuse(A ? A->comm : NULL);
    return factorise(A, LU, options, factors);
}

tulle_status tulle_direct_cholesky(const tulle_mat *A, const tulle_direct_options *options, tulle_direct **factors)
{
    tulle_direct_options own;
    if (TULLE__NULL(A) || TULLE__OPTIONS(options, &own, library) ||
        TULLE__OUTSIDE(options->elimination, TULLE_ELIMINATION_COUNT - 1) || TULLE__NULL(factors))
        return tulle__refuse(A ? A->comm : NULL);
    return factorise(A, CHOLESKY, options, factors);
}

void tulle_direct_free(tulle_direct *factors)
{
    if (!factors) return;
    struct direct *d = (struct direct *)(void *)factors;
    tulle__pe_disown(&d->owned);
    tulle_mat_free(factors->L);
    tulle_mat_free(factors->U);
    drop(d);
}
