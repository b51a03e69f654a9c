/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The performance of a machine, measured or published, and the least time of a product on it. Rates
 * of memory, arithmetic and kernels are those of `threads` threads together; a PE of t threads has
 * t / threads of them. Rates of transfers are those of one PE while all PEs transfer.
 */
#ifndef TULLE_MACHINE_H
#define TULLE_MACHINE_H

#include <stdbool.h>

#include <tulle/mat.h>
#include <tulle/product.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A tier of the network: a transfer of b bytes in n ranges takes latency + (n - 1) range + b /
 * bandwidth seconds.
 */
typedef struct tulle_tier {
    double latency;   /* seconds until a get of 8 bytes has arrived; 0: unknown */
    double bandwidth; /* bytes a second; 0: unknown */
    double range;     /* seconds per range of a list after the first; 0: unknown, 1/16 of the latency is assumed */
} tulle_tier;

typedef enum tulle_distance { TULLE_SAME_NODE, TULLE_OTHER_NODE, TULLE_DISTANCE_COUNT } tulle_distance;

/*
 * The points of the kernel benchmarks: entries per row of A and columns of B; multiplications per
 * entry of C; rows and columns of a block.
 */
enum { TULLE_RATE_DEGREES = 3, TULLE_RATE_WIDTHS = 4, TULLE_RATE_FACTORS = 3, TULLE_RATE_BLOCKS = 5 };
enum { TULLE_RATE_CROSSINGS = 8 };
#define TULLE_RATE_DEGREE ((const double[TULLE_RATE_DEGREES]){2, 8, 32})
#define TULLE_RATE_WIDTH ((const double[TULLE_RATE_WIDTHS]){1, 8, 32, 128})
#define TULLE_RATE_FACTOR ((const double[TULLE_RATE_FACTORS]){1, 4, 16})
#define TULLE_RATE_BLOCK ((const double[TULLE_RATE_BLOCKS]){4, 8, 16, 32, 64})
/* rows and columns of the blocks with which the kernels of tulle_block_kernel are compared */
#define TULLE_RATE_CROSSING ((const double[TULLE_RATE_CROSSINGS]){16, 24, 32, 48, 64, 96, 128, 192})

typedef struct tulle_machine {
    /*
     * The kind of machine: processor, cores that may be used, caches, memory, version; or the name
     * of a published one
     */
    char kind[192];
    char comm[128];               /* spec of the team whose tiers these are, set by the caller; "" */
    int threads;                  /* number of threads that worked in parallel */
    double stream;                /* bytes a second of the triad a = b + s c in memory */
    double cache;                 /* bytes a second of reads from the second-level cache */
    double fma[TULLE_TYPE_COUNT]; /* flops a second of multiply-adds in registers (2 each) */
    /* flops a second of the f64 kernels, by density; 0: unknown, the roofline is assumed */
    double spmm[TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS]; /* widths of one degree are consecutive */
    double spgemm[TULLE_RATE_FACTORS];
    double blocks[TULLE_RATE_BLOCKS]; /* products of two matrices of blocks */
    /* the same by each of tulle_block_kernel, whose sizes are consecutive; 0: it is not there */
    double block_kernels[+TULLE_BLOCK_KERNELS * TULLE_RATE_CROSSINGS]; /* + : C++20 deprecates products of two enums */
    /*
     * The least rows, columns and inner indices of blocks that each of tulle_block_kernel multiplies,
     * by those rates; 2^20: none. 0: not measured; LIBXSMM takes them from 32 on, the BLAS from 192 on
     */
    double block_from[TULLE_BLOCK_KERNELS];
    tulle_tier tier[TULLE_DISTANCE_COUNT];
    int node_pes;  /* PEs on a node; 0: as many as threads / threads of a PE */
    bool in_place; /* PEs of a node read each other's memory in place */
    /*
     * True for a simulated machine (tulle_machine_of_team): kernels take launch + the longest of arithmetic, traffic of
     * memory and traffic of the cache, each counted as the simulation counts it
     */
    bool simulated;
    bool shared; /* transfers that are under way together end together, as they share links; else in turn */
    /* bytes a second that one transfer gets where no other is under way; 0: as the tier says */
    double single[TULLE_DISTANCE_COUNT];
    double launch;   /* seconds of each kernel in addition to its work; 0: part of the rates */
    double overhead; /* seconds of a PE to start a transfer */
    bool guessed;    /* figures of its kind of processor, from tulle_machine_guess, not measured ones */
    double crowd;    /* threads to a core, if PEs have more threads than there are cores; else 0. Not saved */
    /*
     * Flops a second of one PE in the kernel of the sparse product at hand, and entries of partial results that it
     * adds up a second (tulle_machine_time_product); 0: by the tables above. Not saved
     */
    double kernel, merge;
} tulle_machine;

/*
 * Disturbance during the measurement. For each figure, or the worst of a table: the relative excess
 * of the median of its repetitions over the shortest, which gives the figure.
 */
typedef struct tulle_machine_noise {
    double stream, cache, fma[TULLE_TYPE_COUNT], spmm, spgemm, blocks;
    double load; /* load average per processor of the minute before; -1: unknown */
} tulle_machine_noise;

/*
 * Measures everything except the tiers with `threads` threads; takes a second or two. Not
 * collective. noise may be NULL.
 */
TULLE_API tulle_status tulle_machine_measure(int threads, tulle_machine *machine, tulle_machine_noise *noise);

/*
 * Local: merges two measurements of a machine into the better figures, as other programs can only
 * worsen them. If `old` has the same kind and number of threads, *machine receives each higher rate
 * of `old`; its tiers, if *machine has none; and its better latencies and bandwidths, if both have
 * tiers of the same comm, node_pes and in_place. Returns how many figures of `old` were better.
 */
TULLE_API int tulle_machine_merge(const tulle_machine *old, tulle_machine *machine);

/*
 * Collective: measures the tiers between the PEs of comm, 36 transfers for each PE and tier, and
 * sets tier, node_pes and in_place of *machine on every PE alike. The cost of a range is the slope
 * over lists of 1, 8 and 64 ranges. Every PE gets from its next neighbour on its own node, then
 * from one on another node, all in parallel. A tier without a pair of PEs stays unknown.
 */
TULLE_API tulle_status tulle_machine_measure_tiers(tulle_comm *comm, tulle_machine *machine);

/*
 * Collective over the comm of A: sets kernel and merge of *machine alike on all PEs to what the kernels of
 * C = A B do on rows of A on this machine: all PEs multiply some rows of their tiles by the tiles of B that
 * they read in place, for about 60 ms or the whole product, and C is dropped. Predictions by *machine are
 * then of products of these matrices only. A is CSR, B CSR or dense, of the same type, with tile rows as A's
 * tile columns (else TULLE_ERR_ARG); for other kinds, unordered rows, and where no PE has a pair of tiles,
 * both are 0; merge also for a dense B.
 */
TULLE_API tulle_status tulle_machine_time_product(const tulle_mat *A, const tulle_mat *B, tulle_machine *machine);

/*
 * The machine that the team simulates, with all that its spec replaces: *machine gets its tiers, node_pes and in_place
 * and, unless kernels take their real time, everything else. threads 0 on return: kernels are those of this
 * machine, whose figures *machine should hold before the call, of the threads of one PE. A platform from
 * a file of SimGrid's has no tiers that are known: tulle_machine_measure_tiers. TULLE_ERR_STATE if nothing is
 * simulated.
 */
TULLE_API tulle_status tulle_machine_of_team(const tulle_team *team, tulle_machine *machine);

/*
 * A machine by name: "summit" and "dgx2", those of the paper's section 6 (one V100 a PE); "here":
 * the saved figures of this kind of machine and number of threads (TULLE_ERR_IO if there are none); else a
 * file written by tulle_machine_save.
 */
TULLE_API tulle_status tulle_machine_find(const char *name, int threads, tulle_machine *machine);

/*
 * Local: figures that are typical of this kind of processor, for so many threads, where nothing was
 * measured: rates of the widest instruction set, kernels as measured on one core of an AMD EPYC of
 * the fourth generation. Sets `guessed`. Within a factor of 3 of what cores of the last ten years do.
 */
TULLE_API tulle_status tulle_machine_guess(int threads, tulle_machine *machine);

/*
 * The user's file of this kind of machine and number of threads: $TULLE_MACHINE, or below
 * $XDG_CACHE_HOME or ~/.cache. Nodes of one kind share it.
 */
TULLE_API tulle_status tulle_machine_path(int threads, char *path, size_t size);
/* The file of all users, below /etc (of the installation); it is read before the user's own. */
TULLE_API tulle_status tulle_machine_system_path(int threads, char *path, size_t size);
/*
 * TULLE_ERR_IO if the file does not exist. path NULL: $TULLE_MACHINE, the file of all users, or the
 * user's, which hold figures of this kind of machine only (TULLE_ERR_STATE). threads 0: any number.
 */
TULLE_API tulle_status tulle_machine_load(const char *path, int threads, tulle_machine *machine);
TULLE_API tulle_status tulle_machine_save(const char *path, const tulle_machine *machine);
/*
 * True if the file for so many threads could be saved now; creates its folders, but does not change
 * the file.
 */
TULLE_API tulle_status tulle_machine_try(const char *path, int threads);

/* Lower bounds on a product's time. */
typedef struct tulle_bound {
    double flops;   /* arithmetic at the rate of multiply-adds; also of one load each from the first-level cache */
    double memory;  /* each operand once from memory, the result once to it */
    double seconds; /* the larger of these: no program is faster */
    /*
     * rows of B from the second-level cache, once for each entry of A that uses them: an
     * expectation for rows of A that share no columns with the previous one, not a bound
     */
    double cache;
} tulle_bound;

/*
 * Not collective. multiplications: of the whole product. Rows of B are read once for each entry of
 * A; SpMM: n values each, SpGEMM: an index and a value for each multiplication.
 */
TULLE_API tulle_bound tulle_product_bound(
    const tulle_machine *machine, const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, double multiplications);

#ifdef __cplusplus
}
#endif
#endif
