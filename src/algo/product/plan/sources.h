/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of sources of a plan (source/source.h), and claims: what follows from the structure of the factors. */
#ifndef TULLE_PRODUCT_SOURCES_H
#define TULLE_PRODUCT_SOURCES_H

#include "algo/chain/transfer_cost.h"
#include "algo/product/plan/plan.h"
#include "algo/product/source/required_source.h"
#include "algo/product/source/source.h"

typedef struct tulle__sources {
    tulle__source *top;                 /* of the stack of the following; NULL: not connected */
    tulle__transfer_costs prices;       /* that it goes by */
    tulle__single_tiles single_tiles;   /* each tile is fetched by itself */
    struct tulle__panels *panels;       /* NULL: not so in steps */
    tulle__required *required;          /* NULL: tiles are fetched whole */
    tulle__required_source by_rows;     /* over it */
    struct tulle__operand_cache *cache; /* NULL: each job fetches what it reads */
    struct tulle__last_job *last_job;   /* NULL: nor from the job before */
    struct tulle__norm_source *norms;   /* NULL: blocks are fetched with their tiles */
    struct tulle__steal *steal;         /* claims; NULL: all PEs keep to their own chains */
} tulle__sources;

/*
 * Makes sources, queue and arena that the policy needs and are not there. Delegated rows are further units of
 * targets. Collective, agreed.
 */
tulle_status tulle__plan_connect(tulle_product *plan);
void tulle__plan_disconnect(tulle_product *plan);
void tulle__sources_drop(tulle_product *plan);
size_t tulle__sources_bytes(const tulle_product *plan);

#endif
