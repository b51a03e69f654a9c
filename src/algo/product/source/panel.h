/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels: the tiles of a step of SUMMA or Cannon. In a step a PE has the tiles of A in its rows of
 * C and the tiles of B in its columns of C, for some k. This is its panel, a copy in a buffer that
 * other PEs read in turn. Tiles that all PEs read in place are not copied; only the meetings
 * remain.
 *
 * SUMMA (van de Geijn and Watts 1997): one k a step, with any layout. A tile goes from its owner to
 * the p - 1 PEs that need it. A PE that has a tile notifies those behind it, which get it. A small
 * tile goes down a binomial tree, in ceil(log2 p) consecutive transfers. A large one passes along a
 * chain in s segments, in the time of (p - 2 + s) / s transfers, and no port carries it twice.
 *
 * Cannon (1969): q x q PEs, a q-th of the k a step. The first panel comes from the owners of the
 * tiles, each later one from the neighbours to the right and below, which had it one step before.
 *
 * Buffers: all PEs meet once a step, when their panels are complete. Then every PE has what it
 * needs of the step before. With one buffer a PE gets the next panel once it has multiplied this
 * one, with two at once. Cannon always has two, since neighbours still read the panel of the step
 * before.
 */
#ifndef TULLE_PRODUCT_PANEL_H
#define TULLE_PRODUCT_PANEL_H

#include "algo/product/source/source.h"

typedef struct tulle__panels tulle__panels;

/*
 * Collective, without agreement. ahead: the panel of the next step comes while one is multiplied;
 * direct: every tile is read in place by every PE.
 */
tulle_status tulle__panels_new(tulle_comm *comm, const tulle__operands *operands, tulle__arrival arrival, int ahead,
    int direct, tulle__panels **panels);
void tulle__panels_free(tulle__panels *panels);

int tulle__panels_steps(const tulle__panels *panels);
/* True if step t is where this PE multiplies A[:,k] and B[k,:]. */
int tulle__panels_in_step(const tulle__panels *panels, int t, int k);

/*
 * As a source, the last of its stack. A step is reached when its panel is complete, on all PEs. The
 * next panel then starts coming if that was asked for, else when that step is wanted.
 */
tulle__source *tulle__panels_source(tulle__panels *panels);

/* Bytes held on this PE. */
size_t tulle__panels_bytes(const tulle__panels *panels);

#endif
