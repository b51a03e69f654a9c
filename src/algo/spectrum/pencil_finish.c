/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a pencil's pairs: vectors of the original problem, their Rayleigh quotients and true residuals. */
#include <math.h>
#include <string.h>

#include "algo/spectrum/spectrum_plan.h"
#include "base/error.h"

/* Columns that go through H and S at a time: in, out = H in, also = S in. */
struct last {
    tulle_spectrum *s;
    tulle__vector also;
    void *H, *S, *back;
};

static tulle_status last_init(tulle_spectrum *s, struct last *l)
{
    const tulle__pencil *p = s->pencil;
    *l = (struct last){.s = s};
    TULLE_CALL(p->H.bind(p->H.context, s->in.mat, s->out.mat, &l->H));
    if (!p->S) return TULLE_OK;
    TULLE_CALL(tulle__vector_new(s->A, s->options.block, &l->also));
    TULLE_CALL(p->times_S.bind(p->times_S.context, s->in.mat, l->also.mat, &l->S));
    return p->solve_Gt.bind(p->solve_Gt.context, s->in.mat, s->out.mat, &l->back);
}

static void last_fini(struct last *l)
{
    const tulle__pencil *p = l->s->pencil;
    if (l->back) p->solve_Gt.unbind(l->back);
    if (l->S) p->times_S.unbind(l->S);
    if (l->H) p->H.unbind(l->H);
    tulle_mat_free(l->also.mat);
}

/* A last step on the vectors of an inverse, nearest ones first, and they are orthonormal again. Collective, agreed. */
static tulle_status purify(tulle_spectrum *s)
{
    tulle_status status = TULLE_OK;
    const int columns = s->basis.columns, width = s->options.block;
    for (int at = 0; at < columns && status == TULLE_OK; at += width) {
        const int n = columns - at < width ? columns - at : width;
        const tulle__block_of_columns x = {s->in.val, width, n}, y = {s->out.val, width, n};
        s->basis.columns = columns;
        tulle__basis_extract(&s->basis, at, n, &x);
        for (int i = 0; i < n; i++) {
            memset(s->basis.turn[i], 0, sizeof *s->basis.turn);
            s->basis.turn[i][i] = 1 / s->wanted[at + i];
        }
        const tulle__multi_term term = {x.val, width, n, n, 1, s->basis.turn};
        tulle__multi_tsmm(&s->basis.multi, 1, &term, n, 0, x.val, width);
        status = tulle__spectrum_pass(s, s->bound, n);
        s->basis.columns = at;
        tulle__basis_append(&s->basis, &y);
    }
    s->basis.columns = columns;
    for (int twice = 0; twice < 2 && status == TULLE_OK; twice++) status = tulle__basis_in_order(&s->basis);
    return status;
}

/* Columns at .. at + n - 1 of V become x = G^-T y. Collective, agreed. */
static tulle_status give_back(struct last *l, int at, int n)
{
    tulle_spectrum *s = l->s;
    const tulle__block_of_columns y = {s->in.val, s->options.block, n}, x = {s->out.val, s->options.block, n};
    const int columns = s->basis.columns;
    tulle__basis_extract(&s->basis, at, n, &y);
    TULLE_CALL(s->pencil->solve_Gt.apply(l->back));
    s->basis.columns = at;
    tulle__basis_append(&s->basis, &x);
    s->basis.columns = columns;
    return TULLE_OK;
}

/* dot[i] = x_i^T y_i of n columns. A PE without rows has no arrays, and X == Y there. Collective, agreed. */
static tulle_status dots(tulle_spectrum *s, const void *X, const void *Y, int n, double *dot)
{
    const int ld = s->options.block;
    const tulle__multi_tsmttsm gram = {X, ld, Y, ld, n, n, 0, s->basis.gram};
    TULLE_CALL(tulle__multi_tsmttsm_all(&s->basis.multi, 1, &gram));
    for (int i = 0; i < n; i++) dot[i] = s->basis.gram[i][i];
    return TULLE_OK;
}

/* The largest element of |V^T S x - e| of n columns from `at` on. Collective, agreed. */
static tulle_status orthogonality(tulle_spectrum *s, const void *Sx, int at, int n, double *off)
{
    const tulle__block_of_columns W = {(void *)(uintptr_t)Sx, s->options.block, n};
    TULLE_CALL(tulle__basis_project(&s->basis, &W));
    for (int c = 0; c < n; c++)
        for (int r = 0; r < s->basis.columns; r++) *off = fmax(*off, fabs(s->basis.h[r][c] - (r == at + c)));
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status measure(struct last *l, int at, int n, tulle__pair *pair, double *off)
{
    tulle_spectrum *s = l->s;
    const tulle__pencil *p = s->pencil;
    double top[TULLE__TALL_MOST], bottom[TULLE__TALL_MOST] = {0}, square[TULLE__TALL_MOST], own[TULLE__TALL_MOST];
    const tulle__block_of_columns X = {s->in.val, s->options.block, n};
    const void *Sx = p->S ? l->also.val : s->in.val;
    tulle__basis_extract(&s->basis, at, n, &X);
    TULLE_CALL(p->H.apply(l->H));
    s->passes++;
    s->columns += n;
    if (p->S) TULLE_CALL(p->times_S.apply(l->S));
    TULLE_CALL(dots(s, s->in.val, s->out.val, n, top));
    TULLE_CALL(dots(s, s->in.val, Sx, n, bottom));
    memcpy(square, bottom, sizeof square); /* without S all lengths are those of x */
    memcpy(own, bottom, sizeof own);
    if (p->S) TULLE_CALL(dots(s, Sx, Sx, n, square));
    if (p->S) TULLE_CALL(dots(s, s->in.val, s->in.val, n, own));
    TULLE_CALL(orthogonality(s, Sx, at, n, off));
    for (int i = 0; i < n; i++) {
        pair[i] = (tulle__pair){.value = top[i] / bottom[i], .size = sqrt(square[i]), .length = sqrt(own[i])};
        memset(s->basis.turn[i], 0, sizeof *s->basis.turn);
        s->basis.turn[i][i] = -pair[i].value;
    }
    const tulle__multi_term term = {Sx, s->options.block, n, n, 1, s->basis.turn};
    tulle__multi_tsmm(&s->basis.multi, 1, &term, n, 1, s->out.val, s->options.block);
    TULLE_CALL(dots(s, s->out.val, s->out.val, n, square));
    for (int i = 0; i < n; i++) pair[i].residual = square[i] >= 0 ? sqrt(square[i]) : NAN;
    return TULLE_OK;
}

tulle_status tulle__pencil_finish(tulle_spectrum *s, int found, tulle__pair *pair, double *off)
{
    struct last l;
    tulle_status status;
    const int width = s->options.block;
    *off = 0;
    TULLE_TRY(last_init(s, &l));
    if (s->pencil->nearest) TULLE_TRY(purify(s));
    for (int at = 0; at < found && s->pencil->S; at += width)
        TULLE_TRY(give_back(&l, at, found - at < width ? found - at : width));
    for (int at = 0; at < found; at += width)
        TULLE_TRY(measure(&l, at, found - at < width ? found - at : width, pair + at, off));
    TULLE_TRY(tulle__basis_orient(&s->basis, NULL));
out:
    last_fini(&l);
    return status;
}
