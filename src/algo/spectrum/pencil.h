/* SPDX-License-Identifier: Apache-2.0 */
/*
 * H x = theta S x as an ordinary symmetric problem, C y = mu y:
 *
 *            S = I                    S = G G^T by Cholesky's factors, x = G^-T y
 *   ends     C = H, mu = theta        C = G^-1 H G^-T, mu = theta
 *   nearest  C = (H - s I)^-1         C = G^T (H - s S)^-1 G,   mu = 1 / (theta - s)   (Ericsson and Ruhe,
 *                                                                                       Math. Comp. 35, 1980)
 *
 * Inverses are direct factors. If H - s S is singular or nearly so, s is moved by some roundings of it.
 *
 * A sigma far beyond all values is nearest to those of an end of the spectrum. H - s S would have H's digits no more,
 * nor converge sooner: there the method is that for ends.
 */
#ifndef TULLE_SPECTRUM_PENCIL_H
#define TULLE_SPECTRUM_PENCIL_H

#include <tulle/direct.h>
#include <tulle/spectrum.h>

#include "algo/spectrum/operators/sequence.h"

struct tulle_spectrum;

/* H x = value S x, x^T S x = 1: by Rayleigh's quotient; ||H x - value S x||, ||S x|| and ||x||. */
typedef struct tulle__pair {
    double value, residual, size, length;
} tulle__pair;

typedef struct tulle__pencil {
    tulle_comm *comm;
    const tulle_mat *given_H, *given_S; /* the caller's */
    bool nearest;                       /* by an inverse */
    tulle_spectrum_end end;             /* of C, at which the wanted values are */
    double sigma, shift;                /* what is asked for; s, as used */
    double norm, norm_of_S, scale;      /* norms of rows; that of H over that of S */
    double least;                       /* the smallest diagonal of G; 1 without S */
    double strictness;                  /* S: a bound of its smallest over its largest diagonal of G */
    tulle_layout *square;
    tulle_mat *S, *G, *Gt; /* in the layout of vectors; NULL: S is I */
    tulle_direct *of_K, *of_S;
    tulle_operator H, times_S, times_G, times_Gt, inverse, solve_G, solve_Gt;
    tulle__sequence transformed;
    tulle_operator C;
} tulle__pencil;

/* Collective, agreed. S may be NULL; H and S must outlive it. Freed by fini, also after a failure. */
tulle_status tulle__pencil_init(
    const tulle_mat *H, const tulle_mat *S, const tulle_spectrum_options *options, tulle__pencil *pencil);
void tulle__pencil_fini(tulle__pencil *pencil);

/* The norm of H - s S over that of S: the rounding of its factors is beside this. */
double tulle__pencil_shifted_scale(const tulle__pencil *pencil);

/* theta of mu. */
double tulle__pencil_value(const tulle__pencil *pencil, double mu);

/*
 * Distance from an eigenvalue, over the norm, at which the rounding of factors, which are not symmetric, is beside it
 * as small as a residual may be.
 */
double tulle__pencil_least_distance(const tulle_mat *H);

/* True if wanted values are so much nearer to sigma than others that these drown, while they are sought: they would not
 * converge. */
bool tulle__pencil_drowned(const struct tulle_spectrum *s);

/*
 * The first `found` columns of the plan's basis, vectors y, become x, and pair[0 .. found - 1] theirs, the nearest to
 * sigma first; *off: the largest element of |X^T S X - I|. Where rounding of an inverse has drowned some, they are
 * those of another plan, whose shift lies apart from sigma, and which has pairs enough for the wanted ones to be among
 * them. Collective, agreed.
 */
tulle_status tulle__pencil_pairs(struct tulle_spectrum *s, int found, tulle__pair *pair, double *off);

/* The same by this plan alone, in order of the distance from its shift. Collective, agreed. */
tulle_status tulle__pencil_finish(struct tulle_spectrum *s, int found, tulle__pair *pair, double *off);

#endif
