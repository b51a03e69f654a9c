/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a product: read as --grid and what goes with it ask, or as the model advises. */
#ifndef TULLE_TOOL_PRODUCT_OPERANDS_H
#define TULLE_TOOL_PRODUCT_OPERANDS_H

#include "pe_grid.h"
#include "result.h"

/* What was asked for, and whose figures the model goes by. */
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
    int is_here;           /* it is this machine, whose network is measured as the team sees it */
};

struct operands {
    tulle_mat *A, *B; /* B is A if a sparse square A stands alone */
    tulle_layout *C;
    tulle_counts *counts;
    tulle_gidx k;
    struct grid grid;
    tulle_machine machine; /* PE 0's; of this one with the network as the team sees it */
};

/* Collective. x->grid is as asked for, and becomes what was chosen; the rest is found. */
tulle_status distribute(const struct product *p, tulle_comm *comm, struct operands *x, char *warnings);

/* Refuses a product of operands of these shapes that --memory does not suffice for; layers: of --replication. */
tulle_status product_needs(const struct product *p, const tulle_operand_shape *shape, int layers);

/* --lookahead as an option of the library: 0 there means the default. */
int lookahead_option(const struct options *options);

#endif
