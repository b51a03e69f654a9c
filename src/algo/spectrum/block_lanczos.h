/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the block Lanczos method (block_lanczos.c), of which its probe (probe.c) is made, too. */
#ifndef TULLE_SPECTRUM_BLOCK_LANCZOS_H
#define TULLE_SPECTRUM_BLOCK_LANCZOS_H

#include "algo/spectrum/spectrum_plan.h"

/*
 * The block that T does not know yet, `width` columns at the end of V, times A. *next: columns of Q, in `out`.
 * Collective, agreed.
 */
tulle_status tulle__lanczos_expand(tulle_spectrum *s, int width, int *next);

/* Q, `width` columns in `out`, becomes the last block of V. Local. */
void tulle__lanczos_append(tulle_spectrum *s, int width);

/* The eigenpairs of T without what is locked; coupled: columns of Q. Collective, agreed. */
tulle_status tulle__lanczos_project(tulle_spectrum *s, int coupled);

/* V = what is locked, and the first `keep` Ritz vectors. Q stays in `out`. Collective, agreed. */
tulle_status tulle__lanczos_restart(tulle_spectrum *s, int keep);

/* Ritz vectors that stay: the wanted ones, and a part of the others, such that there is room for two blocks. */
int tulle__lanczos_kept(const tulle_spectrum *s);

/* Random directions become the last block of V, *width of them. Collective, agreed. */
tulle_status tulle__lanczos_begin(tulle_spectrum *s, int *width);

/* |R u'| of T's eigenvector that is the i-th in order. */
double tulle__lanczos_residual(const tulle_spectrum *s, int i, int coupled);

/* Shows the caller a pass. */
void tulle__lanczos_watch(const tulle_spectrum *s);

/*
 * Looks for pairs that were missed when the wanted ones have converged, `coupled` columns of Q in `out`. *found: the
 * method goes on from V, the wanted vectors and a last block, *width columns, which has the better ones; else the
 * wanted vectors are locked. s->missed: the chance that there is a better pair. Collective, agreed.
 */
tulle_status tulle__lanczos_probe(tulle_spectrum *s, int coupled, bool *found, int *width);

/* True if the chance that a better pair was missed is small enough. */
bool tulle__lanczos_sure(const tulle_spectrum *s);

#endif
