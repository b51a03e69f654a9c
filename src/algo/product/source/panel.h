/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles for the bulk-synchronous algorithms: in each step a PE holds the tiles of A in its rows of C and the tiles of B
 * in its columns of C for some k, the panel of the step, copied into a buffer that others copy from in turn.
 *
 * SUMMA (van de Geijn and Watts 1997), one k a step: each tile goes from its owner to the p - 1 PEs that need it,
 * whatever the layout. A PE that has a tile tells those behind it, which pull it. A small one goes down a binomial
 * tree, in ceil(log2 p) transfers one behind the other; of a large one each PE gets and passes on s segments, along a
 * chain, in the time of (p - 2 + s) / s transfers, and no port carries it twice. Cannon (1969), q x q PEs, a q-th of
 * the k a step: the first panel comes from the owners, each later one from the neighbours to the right and below, which
 * have had it one step before.
 *
 * All PEs meet once a step, behind finish: then all have what they need of the step, so that with one buffer the next
 * panel may overwrite it once its owner has multiplied, and with two at once. Cannon always has two, as neighbours
 * still copy the panel of the step before. What is read in place everywhere is not copied, only the meetings remain.
 */
#ifndef TULLE_PRODUCT_PANEL_H
#define TULLE_PRODUCT_PANEL_H

#include "algo/product/source/source.h"

typedef struct tulle__panels tulle__panels;

/*
 * Collective, without agreement. ahead: the panel of the next step comes while one is multiplied; direct: every tile is
 * read in place by every PE.
 */
tulle_status tulle__panels_new(tulle_comm *comm, const tulle__operands *operands, tulle__arrival arrival, int ahead,
    int direct, tulle__panels **panels);
void tulle__panels_free(tulle__panels *panels);

int tulle__panels_steps(const tulle__panels *panels);
/* Whether step t is where this PE multiplies A[:,k] and B[k,:]. */
int tulle__panels_in_step(const tulle__panels *panels, int t, int k);

/*
 * As a source, the last of its stack. A step is reached when its panel is complete, on all PEs. The
 * next panel then starts coming if that was asked for, else when that step is wanted.
 */
tulle__source *tulle__panels_source(tulle__panels *panels);

/* What is held on this PE. */
size_t tulle__panels_bytes(const tulle__panels *panels);

#endif
