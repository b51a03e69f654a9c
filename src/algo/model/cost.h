/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a product cost on a machine, and what they add up to for each PE. */
#ifndef TULLE_MODEL_COST_H
#define TULLE_MODEL_COST_H

#include "algo/model/operation_counts.h"

typedef struct tulle__costs {
    const tulle_counts *census;
    const tulle_machine *machine;
    tulle_tier tier[TULLE_DISTANCE_COUNT]; /* both known, or assumed */
    int threads, deterministic;
    int lookahead; /* < 0: the default of the policy at hand */
    tulle_transfers transfers;
    int group;    /* most units in a job under this policy */
    int node_pes; /* PEs on a node: ranks follow each other */
    int direct;   /* every tile is read in place by every PE */
    double share; /* of the machine's threads, a PE's */
    double panel; /* bytes */
    double room;  /* bytes for fetched tiles; 0: any */
    double *unit; /* [M * K * N]: seconds of each unit's kernel */
    double *part; /* [pes]: room for a number of each */
} tulle__costs;

/* Of one PE. Seconds, but for what is counted. */
typedef struct tulle__pe_load {
    double work; /* multiplications */
    double compute, fetch, push, accumulate;
    double latency;         /* of the fetches of each job, which start together: jobs fetched ahead share it */
    double local;           /* of compute, that of jobs which fetch nothing */
    double fetches;         /* jobs that fetch */
    double served;          /* others' transfers out of this PE's memory */
    double far, far_served; /* of fetch and served, those between nodes: as if all PEs of the node had such */
    double bytes, messages, partials;
    double communicate, total; /* what is not hidden; until this PE is done */
} tulle__pe_load;

tulle_status tulle__costs_init(
    const tulle_counts *census, const tulle_machine *machine, const tulle_model_options *options, tulle__costs *costs);
void tulle__costs_fini(tulle__costs *costs);

/* Whether `to` reads memory of `from` in place. */
int tulle__cost_in_place(const tulle__costs *costs, int from, int to);
double tulle__cost_transfer(const tulle__costs *costs, int from, int to, double bytes);
/* A meeting of all PEs. */
double tulle__cost_meeting(const tulle__costs *costs);
/* The kernel of unit (i, k, j). */
static inline double tulle__cost_unit(const tulle__costs *costs, int i, int k, int j)
{
    return costs->unit[tulle__unit_index(costs->census, i, k, j)];
}
/* Seconds that PE `to` takes to get a tile of the owner's; 0 if it need not. Adds it to both loads, but for the
 * latency. */
double tulle__cost_fetch(const tulle__costs *costs, const tulle_mat *X, int i, int j, int to, tulle__pe_load *load);
/* The same for what PE `to` needs of B[k,j] for A[i,k]. */
double tulle__cost_fetch_b(const tulle__costs *costs, int i, int k, int j, int to, tulle__pe_load *load);

/* The latency of a job that fetches for so long. */
double tulle__cost_latency(const tulle__costs *costs, int to, double seconds);

/*
 * A node's PEs share what leads out of it; rates are those of PEs that all transfer at once. Makes fetch and served
 * what they are where some are silent or done earlier: PE p's own far transfers, and of each other's as much, one
 * behind the other at the rate of the node.
 */
void tulle__cost_share_nodes(const tulle__costs *costs, tulle__pe_load *load);

/* Entries of what nk units of C tile (i, j) make; counted if they are a job of stationary A or B that was counted. */
double tulle__cost_entries(const tulle__costs *costs, const tulle__policy *policy, int i, int j, int nk, const int *k);
/*
 * A partial result of so many entries of C tile (i, j) on its way from PE `from` to the owner, and how often its bytes
 * go through the owner's memory. Dense: all entries.
 */
void tulle__cost_partial(
    const tulle__costs *costs, int from, int i, int j, double entries, int passes, tulle__pe_load *load);
/* Merging sparse summands of so many entries in all into one tile. */
double tulle__cost_merge(const tulle__costs *costs, double entries);

/* The loads under an algorithm that fits, by how its tiles come and what may be taken: [pes], all 0 at first. */
void tulle__walk_static(const tulle__costs *costs, const tulle__policy *policy, int *k, tulle__pe_load *load);
tulle_status tulle__walk_stealing(const tulle__costs *costs, const tulle__policy *policy, tulle__pe_load *load);
tulle_status tulle__walk_bulk(const tulle__costs *costs, const tulle__policy *policy, tulle__pe_load *load);

#endif
