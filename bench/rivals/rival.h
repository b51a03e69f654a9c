/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that all rivals share, so that they differ in nothing but the library they call: the command line, the input
 * file, the memory environment, the timing protocol and the line of JSON that comes out.
 *
 * Protocol: A is read and handed to the library, which may prepare what it likes (counted as seconds_setup). Then one
 * run to warm up and `reps` timed ones. A run makes C from nothing: allocation of C is inside the timing, giving the C
 * of the run before back is not. C is complete and its rows are in order at the end of a run.
 *
 * Solves: T is the lower triangle of A (with --unit 1 without its diagonal, which is of ones), rows scaled so that
 * entries off the diagonal sum up to 1 at most and pivots are at least 1; `cols` right-hand sides B, row-major. Where X
 * goes is there before.
 *
 * Memory: freed memory stays with the process and huge pages are asked for (M_MMAP_MAX=0, M_TRIM_THRESHOLD off,
 * glibc.malloc.hugetlb=1), since first touch of fresh pages costs more than most products here.
 */
#ifndef TULLE_BENCH_RIVAL_H
#define TULLE_BENCH_RIVAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RIVAL_REPS_MAX = 1000 };

/* A CSR matrix, rows in order. val is float or double. */
typedef struct rival_csr {
    int64_t m, n, nnz;
    int64_t *rowptr;
    int32_t *colind;
    void *val;
} rival_csr;

typedef struct rival_case {
    const char *rival, *matrix;
    char version[128], code_path[256], note[256];
    int spmm, solve, unit, f64, threads, reps, ranks, rank;
    int64_t cols;
    rival_csr A;   /* or T */
    double *B_f64; /* SpMM and solves: n x cols, row-major; one of the two */
    float *B_f32;
    rival_csr B; /* SpGEMM: A itself if A is square, else its transpose */
    int transposed;
    double flops; /* 2 x multiplications */
    double setup; /* seconds of preparation */
    int nseconds;
    double faults; /* pages first touched a timed run, on average: 0 if memory is warm */
    double seconds[RIVAL_REPS_MAX];
    double extra[RIVAL_REPS_MAX]; /* of a run's time: what putting rows in order took, if that is a step of its own */
    int has_extra;
    int64_t nnz_c;
    double sum, sum_abs; /* over the values of C */
} rival_case;

/* First thing in main: sets the environment (starts itself anew if it has to) and the allocator. */
void rival_environment(int argc, char **argv, int threads_from_arguments);

/* Reads the command line and the file; ends the program with a message if it cannot. Prepares B. */
void rival_open(rival_case *work, const char *name, int argc, char **argv, int rank, int ranks);

/* One product: makes C, times itself (between barriers if there are several ranks), gives the C of the run before back.
 */
typedef void (*rival_run)(void *context, double *seconds, double *extra);

void rival_measure(rival_case *work, rival_run run, void *context);

/* Prints the line. */
void rival_report(const rival_case *work);

double rival_now(void);

/* T = A^T, rows in order, arrays from malloc. */
void rival_transpose(const rival_csr *A, int f64, rival_csr *T);

/* For results as arrays: adds to sum and sum_abs. */
void rival_checksum(rival_case *work, const void *val, int64_t count);

/* Ends the program, naming the rival's call. */
void rival_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#ifdef __cplusplus
}
#endif
#endif
