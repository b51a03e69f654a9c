/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/pencil.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <tulle/algebra.h>
#include <tulle/array.h>

#include "algo/spectrum/basis.h"
#include "algo/spectrum/operators/permuted_solve.h"
#include "algo/spectrum/unread.h"
#include "base/error.h"
#include "mat/mat.h"

/* Factorisations with s moved, each time further. */
enum { TRIES = 3, FURTHER = 10 };

static double epsilon(const tulle_mat *H)
{
    return H->type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

double tulle__pencil_least_distance(const tulle_mat *H)
{
    return epsilon(H) / (H->type == TULLE_F32 ? 1e-4 : 1e-8);
}

double tulle__pencil_shifted_scale(const tulle__pencil *p)
{
    return p->scale + fabs(p->sigma);
}

double tulle__pencil_value(const tulle__pencil *p, double mu)
{
    return p->nearest ? p->shift + 1 / mu : mu;
}

/* ---- matrices ---- */

/* The outcome is the same on all PEs. */
static tulle_status check(const tulle_mat *H, const tulle_mat *S, const tulle_spectrum_options *o)
{
    if (H->kind != TULLE_CSR || H->layout->m != H->layout->n)
        return tulle__fail(TULLE_ERR_ARG,
            "eigenpairs are those of a square sparse matrix, but this one is %" PRId64 " x %" PRId64 "%s", H->layout->m,
            H->layout->n, H->kind == TULLE_CSR ? "" : ", dense or in blocks");
    if (S && S->comm != H->comm)
        return tulle__fail(TULLE_ERR_ARG, "S belongs to another team than H, or to a part of it");
    if (S && (S->kind != TULLE_CSR || S->layout->m != H->layout->m || S->layout->n != H->layout->n))
        return tulle__fail(TULLE_ERR_ARG,
            "S must be sparse, %" PRId64 " x %" PRId64 " as H, but is %" PRId64 " x %" PRId64 "%s", H->layout->m,
            H->layout->n, S->layout->m, S->layout->n, S->kind == TULLE_CSR ? "" : ", dense or in blocks");
    if (S && S->type != H->type) return tulle__fail(TULLE_ERR_ARG, "H and S have different types");
    TULLE_CALL(tulle__spectrum_unread(o));
    if (o->nearest && !isfinite(o->sigma)) return tulle__fail(TULLE_ERR_ARG, "sigma is %g", o->sigma);
    if (o->nearest && o->end != TULLE_SPECTRUM_MAGNITUDE)
        return tulle__fail(TULLE_ERR_ARG,
            "the pairs nearest to sigma are the largest of 1 / (theta - sigma) in magnitude: the end is LM, not %s",
            tulle_spectrum_end_name(o->end));
    return tulle__wants_values(H->comm, "a method for eigenpairs");
}

/* Refuses a matrix that is not symmetric to rounding. *norm: that of its rows. Collective, agreed. */
static tulle_status check_symmetry(const tulle_mat *A, const char *name, double *norm)
{
    double off = 0;
    char what[32];
    snprintf(what, sizeof what, "the norm of %s", name);
    TULLE_CALL(tulle_mat_norm(A, TULLE_NORM_INFINITY, norm));
    TULLE_CALL(tulle_mat_asymmetry(A, TULLE_SYMMETRIC, &off));
    if (!isfinite(*norm)) return tulle__fail(TULLE_ERR_ARG, "%s has nan, inf or too large values", name);
    if (A->type == TULLE_F64) TULLE_CALL(tulle__check_squares(what, *norm));
    if (off <= (A->type == TULLE_F32 ? 1e-3 : 1e-8) * *norm) return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_ARG, "the matrix %s is not symmetric: an element and its mirror image differ by %.3g", name, off);
}

static tulle_status make_identity(tulle_comm *comm, tulle_gidx n, tulle_type type, tulle_mat **identity)
{
    const tulle_gidx first = n * comm->rank / comm->size, count = n * (comm->rank + 1) / comm->size - first;
    int64_t *ptr = NULL, *ind = NULL;
    char *val = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)count + 1, sizeof *ptr, "the identity", &ptr));
    TULLE_TRY(tulle__alloc((size_t)count, sizeof *ind, "the identity", &ind));
    TULLE_TRY(tulle__alloc((size_t)count, tulle_type_size(type), "the identity", &val));
    for (tulle_gidx i = 0; i <= count; i++) ptr[i] = i;
    for (tulle_gidx i = 0; i < count; i++) {
        ind[i] = first + i;
        if (type == TULLE_F32)
            ((float *)(void *)val)[i] = 1;
        else
            ((double *)(void *)val)[i] = 1;
    }
out:
    status = tulle_comm_agree(comm, status);
    tulle_mat *borrowed = NULL;
    if (status == TULLE_OK) {
        tulle_array a = tulle_array_sparse(
            TULLE_STORAGE_CSR, n, n, NULL, sizeof *ptr, ind, sizeof *ind, val, tulle_type_size(type));
        a.first = first;
        a.count = a.nnz = count;
        a.ptr = ptr;
        status = tulle_mat_from_array(comm, &a, &borrowed);
    }
    if (status == TULLE_OK) status = tulle_mat_add(1, borrowed, 0, borrowed, identity);
    tulle_mat_free(borrowed);
    tulle__free(val);
    tulle__free(ind);
    tulle__free(ptr);
    return status;
}

/* ---- factors ---- */

/* The smallest pivot over the largest value of its row, by U's diagonal. Collective, agreed. */
static tulle_status least_pivot(const tulle_direct *f, double *least)
{
    double *pivot = NULL;
    tulle_comm *comm = f->U->comm;
    tulle_status status = tulle_comm_agree(comm, tulle__alloc((size_t)f->n, sizeof *pivot, "pivots", &pivot));
    if (status == TULLE_OK) status = tulle_mat_diagonal(f->U, pivot);
    *least = INFINITY;
    for (tulle_gidx i = 0; i < f->n && status == TULLE_OK; i++) *least = fmin(*least, fabs(pivot[i]));
    tulle__free(pivot);
    return status;
}

/* (H - s S)^-1 with s = sigma, or near it. Collective, agreed. */
static tulle_status factorise_shifted(tulle__pencil *p, const tulle_mat *H, const tulle_mat *S)
{
    const double scale = tulle__pencil_shifted_scale(p);
    double step = tulle__pencil_least_distance(H) * (scale > 0 ? scale : 1), least = 0;
    tulle_status status = TULLE_OK;
    p->shift = p->sigma;
    for (int i = 0;; i++) {
        tulle_mat *K = NULL;
        TULLE_CALL(tulle_mat_add(1, H, -p->shift, S, &K));
        const tulle_direct_options options = {.threshold = i ? 1 : 0}; /* small pivots grow errors otherwise */
        status = tulle_direct_lu(K, &options, &p->of_K);
        tulle_mat_free(K);
        if (status == TULLE_OK) status = least_pivot(p->of_K, &least);
        if ((status == TULLE_OK && least > 16 * epsilon(H)) || i == TRIES) break;
        if (status != TULLE_OK && status != TULLE_ERR_ARG) return status;
        tulle_direct_free(p->of_K);
        p->of_K = NULL;
        p->shift = p->sigma - step;
        step *= FURTHER;
    }
    if (status != TULLE_OK) return status;
    return tulle__permuted_solve(p->comm, p->of_K, TULLE__TRIANGLES_BOTH, p->H.layout, &p->inverse);
}

/* G = P^T L P in the layout of vectors. Collective, agreed. */
static tulle_status make_G(tulle__pencil *p)
{
    tulle_mat *permuted = NULL;
    tulle_gidx *place = NULL;
    const tulle_gidx n = p->of_S->n;
    tulle_status status = tulle_comm_agree(p->comm, tulle__alloc((size_t)n, sizeof *place, "a permutation", &place));
    for (tulle_gidx i = 0; i < n && status == TULLE_OK; i++) place[p->of_S->row[i]] = i;
    if (status == TULLE_OK) status = tulle_mat_permute(p->of_S->L, place, place, &permuted);
    if (status == TULLE_OK) status = tulle_mat_redistribute(permuted, p->square, &p->G);
    tulle_mat_free(permuted);
    permuted = NULL;
    if (status == TULLE_OK) status = tulle_mat_transpose(p->G, &permuted);
    if (status == TULLE_OK) status = tulle_mat_redistribute(permuted, p->square, &p->Gt);
    tulle_mat_free(permuted);
    tulle__free(place);
    return status;
}

static tulle_status find_strictness(tulle__pencil *p)
{
    double *pivot = NULL, least = INFINITY, most = 0;
    tulle_status status = tulle_comm_agree(p->comm, tulle__alloc((size_t)p->of_S->n, sizeof *pivot, "pivots", &pivot));
    if (status == TULLE_OK) status = tulle_mat_diagonal(p->of_S->L, pivot);
    for (tulle_gidx i = 0; i < p->of_S->n && status == TULLE_OK; i++) {
        least = fmin(least, pivot[i]);
        most = fmax(most, pivot[i]);
    }
    p->strictness = most > 0 ? least / most : 1;
    p->least = least;
    tulle__free(pivot);
    return status;
}

/* Collective, agreed. */
static tulle_status factorise_S(tulle__pencil *p, const tulle_mat *S)
{
    TULLE_CALL(tulle_direct_cholesky(S, NULL, &p->of_S));
    TULLE_CALL(find_strictness(p));
    TULLE_CALL(tulle_mat_redistribute(S, p->square, &p->S));
    TULLE_CALL(tulle_operator_of_mat(p->S, NULL, &p->times_S));
    return tulle__permuted_solve(p->comm, p->of_S, TULLE__TRIANGLES_TRANSPOSED, p->H.layout, &p->solve_Gt);
}

/* Parts of them that a pass takes. Collective, agreed. */
static tulle_status place_factors_of_S(tulle__pencil *p)
{
    if (!p->nearest) return tulle__permuted_solve(p->comm, p->of_S, TULLE__TRIANGLES_LOWER, p->H.layout, &p->solve_G);
    TULLE_CALL(make_G(p));
    TULLE_CALL(tulle_operator_of_mat(p->G, NULL, &p->times_G));
    return tulle_operator_of_mat(p->Gt, NULL, &p->times_Gt);
}

/* ---- far values ---- */

/*
 * True if sigma lies beyond all values: if S - H / sigma is positive definite. Without S each of them is at most the
 * norm of H's rows. Collective, agreed.
 */
static tulle_status lies_beyond(const tulle__pencil *p, const tulle_mat *H, const tulle_mat *S, bool *beyond)
{
    tulle_mat *K = NULL;
    tulle_direct *factors = NULL;
    *beyond = true;
    if (!S) return TULLE_OK;
    TULLE_CALL(tulle_mat_add(1, S, -1 / p->sigma, H, &K));
    const tulle_status status = tulle_direct_cholesky(K, NULL, &factors);
    tulle_direct_free(factors);
    tulle_mat_free(K);
    *beyond = status == TULLE_OK;
    return status == TULLE_ERR_ARG ? TULLE_OK : status;
}

/* By an inverse, or at an end that is nearest to a sigma more than FAR times beyond the largest value there may be. */
static tulle_status choose_end(tulle__pencil *p, const tulle_mat *H, const tulle_mat *S, double norm)
{
    enum { FAR = 2 };
    bool beyond = false;
    if (fabs(p->sigma) > FAR * norm / (p->least * p->least)) TULLE_CALL(lies_beyond(p, H, S, &beyond));
    p->nearest = !beyond;
    if (beyond) p->end = p->sigma > 0 ? TULLE_SPECTRUM_LARGEST : TULLE_SPECTRUM_SMALLEST;
    return TULLE_OK;
}

/* ---- the whole ---- */

static void arrange(tulle__pencil *p)
{
    tulle__sequence *t = &p->transformed;
    if (p->nearest && p->S)
        *t = (tulle__sequence){{&p->times_G, &p->inverse, &p->times_Gt}, 3};
    else if (p->S)
        *t = (tulle__sequence){{&p->solve_Gt, &p->H, &p->solve_G}, 3};
    else
        *t = (tulle__sequence){{p->nearest ? &p->inverse : &p->H}, 1};
    p->C = tulle__sequence_operator(t);
}

tulle_status tulle__pencil_init(
    const tulle_mat *H, const tulle_mat *S, const tulle_spectrum_options *o, tulle__pencil *p)
{
    double of_H = 0, of_S = 1;
    TULLE__SCOPED_MAT tulle_mat *identity = NULL;
    *p = (tulle__pencil){
        .comm = H->comm, .given_H = H, .given_S = S, .sigma = o->sigma, .end = o->end, .least = 1, .strictness = 1};
    TULLE_CALL(tulle_comm_agree(p->comm, check(H, S, o)));
    TULLE_CALL(check_symmetry(H, S ? "H" : "A", &of_H));
    if (S) TULLE_CALL(check_symmetry(S, "S", &of_S));
    TULLE_CALL(tulle_operator_of_mat(H, NULL, &p->H));
    TULLE_CALL(tulle__layout_square_of(p->H.layout, p->comm, &p->square));
    p->norm = of_H;
    p->norm_of_S = of_S;
    p->scale = of_H / (of_S > 0 ? of_S : 1);
    if (S) TULLE_CALL(factorise_S(p, S));
    if (o->nearest) TULLE_CALL(choose_end(p, H, S, of_H));
    if (S) TULLE_CALL(place_factors_of_S(p));
    if (p->nearest && !S) TULLE_CALL(make_identity(p->comm, H->layout->m, H->type, &identity));
    if (p->nearest) TULLE_CALL(factorise_shifted(p, H, S ? S : identity));
    arrange(p);
    return TULLE_OK;
}

void tulle__pencil_fini(tulle__pencil *p)
{
    tulle_operator_free(&p->solve_Gt);
    tulle_operator_free(&p->solve_G);
    tulle_operator_free(&p->inverse);
    tulle_operator_free(&p->times_Gt);
    tulle_operator_free(&p->times_G);
    tulle_operator_free(&p->times_S);
    tulle_operator_free(&p->H);
    tulle_direct_free(p->of_S);
    tulle_direct_free(p->of_K);
    tulle_mat_free(p->Gt);
    tulle_mat_free(p->G);
    tulle_mat_free(p->S);
    tulle_layout_free(p->square);
    *p = (tulle__pencil){.comm = NULL};
}
