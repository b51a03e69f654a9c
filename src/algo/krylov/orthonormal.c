/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank-revealing QR factorisation of a block in the inner product of M^-1: pivoted Cholesky of
 * the Gram matrix G = T^T Y, Y = M^-1 T, with columns scaled to length 1. The result is orthonormal
 * up to rounding over the smallest pivot. A block whose columns are not nearly dependent therefore
 * needs one reduction and no change of T: Q = T N is not formed; N is applied with the next update
 * of T.
 *
 * Pivots are chosen by their length in T, not in the scaled columns: an error of T is as large in a
 * short column as in a long one, and a direction must come from where it is known best.
 *
 * Otherwise the columns with trustworthy pivots are orthonormalised, the others are orthogonalised
 * against them, and the procedure repeats ("iterated Cholesky QR with pivots"). Each sweep resolves
 * directions down to 1e-5 of the previous ones; the Gram matrix, which squares small quantities,
 * cannot show them at once. The second sweep also provides "twice is enough" (Yamamoto,
 * Nakatsukasa, Yanagisawa, Fukaya, "Roundoff error analysis of the CholeskyQR2 algorithm", ETNA 44,
 * 2015). Directions at the rounding level of T itself are dropped: this is the block's loss of
 * rank. Where directions cancelled, Y is recomputed from T.
 */
#include <float.h>
#include <math.h>

#include "algo/krylov/block.h"
#include "base/error.h"

/*
 * The least pivot after which nothing is repeated; the most sweeps; the least ratio of a direction
 * to rounding.
 */
static const double good = 1e-4;
enum { PASSES = 6, OVER = 10 };

/* All inner products of T and Y that may be needed, with one reduction. */
static tulle_status compute_products(tulle__block *b, int conjugate)
{
    tulle__block_small *s = b->small;
    const tulle__block_vectors *p = &b->vectors;
    const void *T = p->rest.val, *Y = b->M ? p->pre.val : T;
    tulle__multi_tsmttsm gram[TULLE__BLOCK_LEVELS + 3];
    size_t size = tulle_type_size(b->multi.space.type);
    int count = 0;
    gram[count++] = (tulle__multi_tsmttsm){T, p->ld, Y, p->ld, b->t, b->t, 1, s->G};
    if (b->M) gram[count++] = (tulle__multi_tsmttsm){T, p->ld, T, p->ld, b->t, b->t, 1, s->H};
    if (conjugate) gram[count++] = (tulle__multi_tsmttsm){p->out.val, p->ld, Y, p->ld, b->m, b->t, 0, s->VY};
    for (int l = 0; l < b->nkept; l++) {
        const tulle__former_directions *former = &b->former[l];
        const char *AD = former->AD.val;
        if (AD) AD += (size_t)former->at * size;
        gram[count++] = (tulle__multi_tsmttsm){AD, former->ld, Y, p->ld, former->count, b->t, 0, s->K[l]};
    }
    return tulle__multi_tsmttsm_all(&b->multi, count, gram);
}

/* Lengths of the columns of T: in the norm of M^-1, in the 2-norm, and of the originals. */
struct lengths {
    double mine[TULLE__TALL_MOST], plain[TULLE__TALL_MOST], share[TULLE__TALL_MOST];
    int live[TULLE__TALL_MOST], count;
    double weight[TULLE__TALL_MOST]; /* squares of the lengths of T's columns: rounding is the same in all of these */
    double scale, plain_scale;
};

/* Examines the pivots. 0 if the block was stopped. */
static int look(tulle__block *b, int pass, struct lengths *is)
{
    tulle__block_small *s = b->small;
    double eps = tulle__block_epsilon(b);
    is->count = 0;
    for (int j = 0; j < b->t; j++) {
        double square = s->G[j][j], row = 0;
        for (int c = 0; c < b->columns; c++) row += s->S[j][c] * s->S[j][c];
        is->mine[j] = square > 0 ? sqrt(square) : 0;
        is->plain[j] = b->M ? sqrt(s->H[j][j]) : is->mine[j];
        is->share[j] = sqrt(row);
        if (!isfinite(square) || !isfinite(is->plain[j])) {
            tulle__block_break(b, TULLE_STOP_NOT_FINITE, "the residual is not finite");
            return 0;
        }
        if (!pass) is->scale = fmax(is->scale, is->mine[j]);
        if (!pass) is->plain_scale = fmax(is->plain_scale, is->plain[j]);
    }
    for (int j = 0; j < b->t; j++) {
        is->live[j] = is->mine[j] * is->share[j] > OVER * eps * is->scale && is->mine[j] > 0;
        is->count += is->live[j];
        is->weight[j] = is->live[j] ? fmax(is->mine[j] * is->share[j] * is->mine[j] * is->share[j], DBL_MIN) : 0;
        if (s->G[j][j] > 0 || !(is->plain[j] * is->share[j] > sqrt(eps) * is->plain_scale)) continue;
        tulle__block_break(b, TULLE_STOP_PRECOND_INDEFINITE,
            "r^T M^-1 r is %.3g: the preconditioner is not positive definite", s->G[j][j]);
        return 0;
    }
    for (int i = 0; i < b->t; i++)
        for (int j = 0; j < b->t; j++)
            s->A[i][j] = is->live[i] && is->live[j] ? s->G[i][j] / (is->mine[i] * is->mine[j]) : 0;
    return 1;
}

/* N (t x rank): column k makes the k-th pivot's column orthonormal, T N = Q with T D^-1 = Q R. */
static void invert(tulle__block *b, const struct lengths *is, int rank, const int *order)
{
    tulle__block_small *s = b->small;
    for (int j = 0; j < b->t; j++)
        for (int k = 0; k < TULLE__TALL_MOST; k++) s->N[j][k] = 0;
    for (int k = 0; k < rank; k++)
        for (int l = k; l >= 0; l--) {
            double sum = l == k;
            for (int i = l + 1; i <= k; i++) sum -= s->R[l][order[i]] * s->N[order[i]][k] * is->mine[order[i]];
            s->N[order[l]][k] = sum / s->R[l][order[l]] / is->mine[order[l]];
        }
}

/*
 * Row k of S' (T = Q S') is row k of R D; S = S' S. Of `count` rows, those from `rank` on have one
 * entry.
 */
static void continue_factor(tulle__block *b, const struct lengths *is, int rank, int count, const int *other)
{
    tulle__block_small *s = b->small;
    for (int k = 0; k < count; k++)
        for (int j = 0; j < b->t; j++)
            s->A[k][j] = k < rank               ? s->R[k][j] * (is->live[j] ? is->mine[j] : 0)
                         : other[k - rank] == j ? is->mine[j]
                                                : 0;
    tulle__small_product(count, b->t, b->columns, s->A, s->S, s->B);
    tulle__small_copy(count, b->columns, s->B, s->S);
}

/*
 * T and Y for another sweep: the orthonormal columns first, then the others less their part along
 * these.
 */
static tulle_status transform(tulle__block *b, const struct lengths *is, int rank, const int *order)
{
    tulle__block_small *s = b->small;
    tulle__block_vectors *p = &b->vectors;
    int other[TULLE__TALL_MOST], count = rank, chosen[TULLE__TALL_MOST] = {0};
    tulle_status status = TULLE_OK;
    invert(b, is, rank, order);
    for (int k = 0; k < rank; k++) chosen[order[k]] = 1;
    for (int j = 0; j < b->t; j++) {
        if (!is->live[j] || chosen[j]) continue;
        for (int i = 0; i < b->t; i++) {
            double along = 0;
            for (int k = 0; k < rank; k++) along += s->N[i][k] * s->R[k][j];
            s->N[i][count] = (i == j ? 1 / is->mine[j] : 0) - along;
        }
        other[count++ - rank] = j;
    }
    continue_factor(b, is, rank, count, other);
    tulle__multi_term T = {p->rest.val, p->ld, b->t, count, 1, s->N}, Y = {p->pre.val, p->ld, b->t, count, 1, s->N};
    tulle__multi_tsmm(&b->multi, 1, &T, p->ld, 0, p->rest.val, p->ld);
    if (b->M && count == rank) tulle__multi_tsmm(&b->multi, 1, &Y, p->ld, 0, p->pre.val, p->ld);
    b->t = count;
    if (b->M && count > rank) status = tulle__block_precondition(b);
    return status;
}

tulle_status tulle__block_orthonormalise(tulle__block *b, double scale, int conjugate, int *rank)
{
    tulle__block_small *s = b->small;
    struct lengths is = {.scale = scale};
    double least = fmax(1e-11, 8 * tulle__block_epsilon(b)), worst;
    int order[TULLE__TALL_MOST];
    *rank = 0;
    for (int i = 0; i < b->t; i++)
        for (int j = 0; j < TULLE__TALL_MOST; j++) s->S[i][j] = i == j;
    for (int pass = 0;; pass++) {
        TULLE_CALL(compute_products(b, conjugate));
        if (!look(b, pass, &is)) return TULLE_OK;
        *rank = tulle__small_pivoted(b->t, s->A, is.weight, least, s->R, order, &worst);
        b->ill = pass > 0;
        if ((*rank == is.count && worst > good) || pass == PASSES) break;
        TULLE_CALL(transform(b, &is, *rank, order));
    }
    invert(b, &is, *rank, order);
    continue_factor(b, &is, *rank, *rank, NULL);
    return TULLE_OK;
}
