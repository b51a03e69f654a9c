/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine can do, measured once and kept or known from its makers, and the time that a product takes at least on
 * it. The figures of memory, arithmetic and kernels are those of `threads` threads at work together; a PE of t threads
 * has t / threads of them. Those of transfers are of one PE while all PEs transfer.
 */
#ifndef TULLE_MACHINE_H
#define TULLE_MACHINE_H

#include <stdbool.h>

#include <tulle/mat.h>
#include <tulle/product.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tier of the network: a transfer of b bytes in n ranges takes latency + (n - 1) range + b / bandwidth seconds. */
typedef struct tulle_tier {
    double latency;   /* seconds, of a get of 8 bytes until it is there; 0: not known */
    double bandwidth; /* bytes a second; 0: not known */
    double range;     /* seconds, of each range of a list after the first; 0: not known, 1/16 of the latency is taken */
} tulle_tier;

typedef enum tulle_distance { TULLE_SAME_NODE, TULLE_OTHER_NODE, TULLE_DISTANCE_COUNT } tulle_distance;

/* Where kernels are measured: entries a row of A and columns of B; multiplications for an entry of C. */
enum { TULLE_RATE_DEGREES = 3, TULLE_RATE_WIDTHS = 4, TULLE_RATE_FACTORS = 3 };
#define TULLE_RATE_DEGREE ((const double[TULLE_RATE_DEGREES]){2, 8, 32})
#define TULLE_RATE_WIDTH ((const double[TULLE_RATE_WIDTHS]){1, 8, 32, 128})
#define TULLE_RATE_FACTOR ((const double[TULLE_RATE_FACTORS]){1, 4, 16})

typedef struct tulle_machine {
    char host[64];
    char comm[128]; /* spec of the team that the tiers are of, as the caller of its measurement knows it; "" */
    int threads;    /* that worked at the same time */
    double stream;  /* bytes a second, triad a = b + s c out of memory */
    double cache;   /* bytes a second, reading what lies in the second-level cache */
    double fma[TULLE_TYPE_COUNT]; /* flops a second of multiply-adds in registers (2 each) */
    /* flops a second of the kernels on f64, by density; 0: not known, the roofline is taken instead */
    double spmm[TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS]; /* widths of one degree side by side */
    double spgemm[TULLE_RATE_FACTORS];
    tulle_tier tier[TULLE_DISTANCE_COUNT];
    int node_pes;  /* PEs on a node; 0: as many as threads / threads of a PE */
    bool in_place; /* PEs of a node read each other's memory in place */
} tulle_machine;

/*
 * How much a machine was disturbed while it was measured. For each figure, of tables the worst: by how much the median
 * of its repetitions took longer than the shortest, which the figure is of, as a part of that.
 */
typedef struct tulle_machine_noise {
    double stream, cache, fma[TULLE_TYPE_COUNT], spmm, spgemm;
    double load; /* threads of all programs that were ready to run, for a processor: the mean of the minute before;
                    -1: not known */
} tulle_machine_noise;

/* Measures all but the tiers with `threads` threads; takes a second or two. Not collective. noise may be NULL. */
TULLE_API tulle_status tulle_machine_measure(int threads, tulle_machine *machine, tulle_machine_noise *noise);

/*
 * Local: of two measurements of one machine the better figures, as other programs can only make figures worse. Where
 * `old` is of the same host and number of threads, *machine gets each higher rate of `old`; its tiers, if they were not
 * measured for *machine; and its better latencies and bandwidths, if both have tiers of the same comm, node_pes and
 * in_place. Returns how many figures of `old` were better.
 */
TULLE_API int tulle_machine_merge(const tulle_machine *old, tulle_machine *machine);

/*
 * Collective: measures the tiers between the PEs of comm, 36 transfers of each PE and tier, and fills in tier, node_pes
 * and in_place of *machine on every PE, alike. The cost of a range is the slope of lists of 1, 8 and 64 of them. Every
 * PE gets from its next neighbour on its own node, then from one on another node, all at the same time. A tier that no
 * two PEs are apart stays not known.
 */
TULLE_API tulle_status tulle_machine_measure_tiers(tulle_comm *comm, tulle_machine *machine);

/*
 * A machine by name: "summit" and "dgx2", those of the paper's section 6 (one V100 a PE); "here": what has been kept
 * for this host and number of threads (TULLE_ERR_IO if nothing has been); else the name of a file that
 * tulle_machine_save wrote.
 */
TULLE_API tulle_status tulle_machine_find(const char *name, int threads, tulle_machine *machine);

/* The file of this host and number of threads: $TULLE_MACHINE, or below $XDG_CACHE_HOME or ~/.cache. */
TULLE_API tulle_status tulle_machine_path(int threads, char *path, size_t size);
/* TULLE_ERR_IO if there is none. path NULL: that file. threads 0: measured with any number of them. */
TULLE_API tulle_status tulle_machine_load(const char *path, int threads, tulle_machine *machine);
TULLE_API tulle_status tulle_machine_save(const char *path, const tulle_machine *machine);
/* Whether save could write that file now, of so many threads: makes its folders, but leaves the file as it is. */
TULLE_API tulle_status tulle_machine_try(const char *path, int threads);

/* What takes how long at least. */
typedef struct tulle_bound {
    double flops;   /* arithmetic at the rate of multiply-adds; also of one load each out of the first-level cache */
    double memory;  /* each operand once from memory, the result once to it */
    double seconds; /* the larger of these: no program is faster */
    /* rows of B, once for each entry of A that asks for them, out of the second-level cache: what to expect where rows
       of A do not share columns with the row before, and no bound */
    double cache;
} tulle_bound;

/*
 * Not collective. multiplications: of the whole product. B's rows are read once for each entry of A; SpMM: n values
 * each, SpGEMM: an index and a value for each multiplication.
 */
TULLE_API tulle_bound tulle_product_bound(
    const tulle_machine *machine, const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, double multiplications);

#ifdef __cplusplus
}
#endif
#endif
