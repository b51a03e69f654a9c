/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a product, read according to --grid and related options, or to the model. */
#ifndef TULLE_TOOL_PRODUCT_OPERANDS_H
#define TULLE_TOOL_PRODUCT_OPERANDS_H

#include "pe_grid.h"
#include "report/result.h"
#include "verbs/permutation.h"

/* The options, and the machine of the model. */
struct product {
    const struct options *options;
    enum product_kind kind;
    int sparse; /* B and C */
    int sizes_only;
    int threads; /* of each PE */
    struct grid grid;
    tulle_read_options reading;
    tulle_product_alg alg[TULLE_PRODUCT_ALG_COUNT];
    int nalgs;
    tulle_transfers transfers;
    tulle_machine machine; /* PE 0 knows it */
    int is_here;           /* the machine is this one, whose network is measured through the team */
};

enum { DEFAULT_COLS = 128 }; /* of a random dense operand */

/* Rows, inner size and columns of dense factors: of files, else by --size, --m, --n, --k. */
void product_sizes(const struct options *o, const tulle_operand_shape *shape, tulle_gidx size[3]);

struct operands {
    tulle_mat *A, *B; /* B is A for a single square sparse A */
    tulle_layout *C;
    tulle_counts *counts;
    tulle_gidx k;
    struct grid grid;
    struct permutation permutation;
    tulle_machine machine; /* PE 0's; for this machine with the network measured through the team */
};

/* Collective. x->grid holds the options, and receives the choice; the rest is output. */
tulle_status distribute(const struct product *p, tulle_comm *comm, struct operands *x, char *warnings);

/*
 * Refuses a product of operands of these shapes that does not fit in --memory; layers: of
 * --replication.
 */
tulle_status product_needs(const struct product *p, const tulle_operand_shape *shape, int layers);

/* --lookahead as a library option, where 0 means the default. */
int lookahead_option(const struct options *options);

#endif
