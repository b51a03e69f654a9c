/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the steps of a product on a machine, and the resulting load of each PE. */
#ifndef TULLE_MODEL_COST_H
#define TULLE_MODEL_COST_H

#include "algo/model/operation_counts.h"

typedef struct tulle__costs {
    const tulle_counts *counts;
    const tulle_machine *machine;
    tulle_tier tier[TULLE_DISTANCE_COUNT]; /* complete: benchmarked, or assumed */
    int threads, deterministic;
    int lookahead; /* < 0: the policy's default */
    tulle_transfers transfers;
    int batch;       /* most tile products of a job under this policy */
    int node_pes;    /* PEs on a node; consecutive ranks share a node */
    int direct;      /* every PE reads every tile in place */
    double made;     /* the fraction of the multiplications that is done */
    double share;    /* a PE's fraction of the machine's threads */
    double panel;    /* bytes */
    double capacity; /* bytes for fetched tiles; 0: unlimited */
    double *unit;    /* [M * K * N]: seconds of each tile product's kernel */
    double
        *idle; /* [M * K * N]: of them the memory's, while arithmetic or the cache takes longer; simulated machines */
    double *part; /* [pes]: scratch */
} tulle__costs;

/*
 * Seconds until all PEs are done with what takes each of them x[pe] while all are at work: where they share cores
 * (tulle_machine.crowd), one that is done leaves its part to the others, up to a core for each thread.
 */
double tulle__cost_together(const tulle__costs *costs, const double *x);

/* The load of a PE, in seconds unless stated otherwise. */
typedef struct tulle__pe_load {
    double work; /* multiplications */
    double compute, fetch, push, accumulate;
    double latency;         /* of the fetches of each job, which start together; jobs fetched ahead share it */
    double local;           /* part of compute: jobs without fetches */
    double fetches;         /* jobs with fetches */
    double served;          /* transfers of other PEs from this PE's memory */
    double far, far_served; /* the parts of fetch and served between nodes, as if every PE of the node had as much */
    double far_partial;     /* seconds of partial results from other nodes, as if every PE of the node had as much */
    double bytes, messages, partials;
    double communicate, total; /* communication that is not hidden; time until this PE is done */
} tulle__pe_load;

tulle_status tulle__costs_init(
    const tulle_counts *counts, const tulle_machine *machine, const tulle_model_options *options, tulle__costs *costs);
void tulle__costs_fini(tulle__costs *costs);

/* Flops a second of products of blocks with so many multiplications and entries of C. */
double tulle__cost_block_rate(const tulle__costs *costs, double multiplications, double entries);

/* True if `to` reads memory of `from` in place. */
int tulle__cost_in_place(const tulle__costs *costs, int from, int to);
double tulle__cost_transfer(const tulle__costs *costs, int from, int to, double bytes);
/* Seconds of a barrier of all PEs. */
double tulle__cost_meeting(const tulle__costs *costs);
/* Bytes a second of a transfer that no other goes beside. */
double tulle__cost_single(const tulle__costs *costs, int from, int to);
/* The mean of x over the PEs of a node: what its port takes at least, if x is of PEs that all transfer at once. */
double tulle__cost_node_mean(const tulle__costs *costs, int pe, const double *x);
/* Seconds until an atomic operation on PE `to` has returned to PE `from`. */
double tulle__cost_round_trip(const tulle__costs *costs, int from, int to);
/* Seconds of the kernel of tile product (i, k, j). */
static inline double tulle__cost_unit(const tulle__costs *costs, int i, int k, int j)
{
    return costs->unit[tulle__unit_index(costs->counts, i, k, j)];
}
/*
 * Seconds that PE `to` takes to get a tile of its owner, 0 if it need not. Adds them, without the
 * latency, to both loads.
 */
double tulle__cost_fetch(const tulle__costs *costs, const tulle_mat *X, int i, int j, int to, tulle__pe_load *load);
/* The same for the rows of B[k,j] that PE `to` requires for A[i,k]. */
double tulle__cost_fetch_b(const tulle__costs *costs, int i, int k, int j, int to, tulle__pe_load *load);

/*
 * True if under this policy norms of blocks come before the blocks, of which only those are fetched that a
 * filter leaves a product (product/source/norm_source.h).
 */
bool tulle__cost_norms_first(const tulle__costs *costs, const tulle__policy *policy);
/* The norms and indices of the tiles that PE `to` multiplies: `seen` has room for [M K + K N], cleared. */
void tulle__cost_fetch_norms(
    const tulle__costs *costs, const tulle__policy *policy, int to, char *seen, tulle__pe_load *load);
/* Norms and indices of a stolen pair, as if none of them were there already. */
double tulle__cost_fetch_stolen_norms(const tulle__costs *costs, int i, int k, int j, int to, tulle__pe_load *load);
/* Then the blocks of A[i,k] and of B[k,j] for each other. */
double tulle__cost_fetch_needed(const tulle__costs *costs, int i, int k, int j, int to, tulle__pe_load *load);

/* The latency of a job whose fetches take this long. */
double tulle__cost_latency(const tulle__costs *costs, int to, double seconds);

/*
 * Distributes the network bandwidth of a node. Rates are those of PEs that all transfer at once.
 * Where some PEs have less to transfer, fetch and served become PE p's own transfers between nodes
 * plus at most as much of each other PE, consecutively at the rate of the node.
 */
void tulle__cost_share_nodes(const tulle__costs *costs, tulle__pe_load *load);

/* A result, in blocks only with its blocks. */
typedef struct tulle__cost_result {
    double entries, blocks;
} tulle__cost_result;

/*
 * The result of nk tile products of C tile (i, j): counted if they are a job of stationary A or B
 * that was counted, else expected.
 */
tulle__cost_result tulle__cost_result_of(
    const tulle__costs *costs, const tulle__policy *policy, int i, int j, int nk, const int *k);
/*
 * A partial result of C tile (i, j), from PE `from` to the owner, and how often
 * its bytes pass through the owner's memory. Dense: all entries.
 */
void tulle__cost_partial(
    const tulle__costs *costs, int from, int i, int j, tulle__cost_result result, int passes, tulle__pe_load *load);
/*
 * Seconds of a job beside its tile products, where the machine says so (tulle_machine.simulated; measured rates have
 * it): the kernel's launch and its result's way to memory. again: a dense result is read, too. idle: seconds in which
 * the job leaves memory idle.
 */
double tulle__cost_job(const tulle__costs *costs, int i, tulle__cost_result result, bool again, double idle);
/* True if tiles of a dense C are multiplied by beta before the first job: PEs add to them in any order. */
bool tulle__cost_scales_first(const tulle__costs *costs, const tulle__policy *policy);
/* Seconds of that on a PE, where kernels are simulated. */
double tulle__cost_scaling(const tulle__costs *costs, const tulle__policy *policy, int pe);
/* Merging sparse contributions with so many entries in total into one tile. */
double tulle__cost_merge(const tulle__costs *costs, double entries);

/* The loads under an algorithm, by its source of tiles and its stealing: [pes], initially 0. */
tulle_status tulle__walk_static(const tulle__costs *costs, const tulle__policy *policy, int *k, tulle__pe_load *load);
tulle_status tulle__walk_stealing(const tulle__costs *costs, const tulle__policy *policy, tulle__pe_load *load);
tulle_status tulle__walk_bulk(const tulle__costs *costs, const tulle__policy *policy, tulle__pe_load *load);

#endif
