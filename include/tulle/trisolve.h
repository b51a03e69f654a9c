/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op(T) X = B for a sparse triangular T and dense B and X of one or many columns: analysed once,
 * solved any number of times, without barriers where the method allows (Xie, Chen, Firoz, Li, Song,
 * Barker, Raugas, Li, "Fast and scalable sparse triangular solver for multi-GPU based HPC
 * architectures", ICPP 2021, and later work).
 *
 * Every row of X is x_i = (b_i - sum over j of t_ij x_j) (1 / t_ii), summed over the entries of the
 * row in the order in which their unknowns are solved, by one worker. All methods therefore give
 * the bits of `serial`, whatever the number of PEs and threads, for the same type, number of
 * columns and instruction set, with two exceptions. The paper's four (`unified`, `unified-tasks`,
 * `shmem`, `zerocopy`) add by columns, in the order in which unknowns become known, and differ from
 * run to run within the rounding bound of tulle_trisolve_check. `supernodal` sums dense blocks as
 * the BLAS does; its bits depend on that library, but neither on PEs nor on threads. Its blocks may
 * hold zeros, so that non-finite values of X may spread to rows of a block that do not depend on
 * them. A threaded BLAS (OpenBLAS) is set to one thread a caller, in the whole process. AUTO may
 * choose `supernodal` for many solves; reports name the method of each solve.
 */
#ifndef TULLE_TRISOLVE_H
#define TULLE_TRISOLVE_H

#include <stdbool.h>

#include <tulle/mat.h>
#include <tulle/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(name, word, text): the methods. Workers are the threads of all PEs, if these read each other's
 * memory: threads, or processes of one node. Otherwise they are those of PE 0, where the triangle
 * is gathered. Under PUSH and the paper's four, which are for networks, each PE is one worker.
 */
#define TULLE_TRISOLVE_METHOD_LIST(X)                                                                                  \
    X(AUTO, "auto", "the fastest by trial")                                                                            \
    X(SERIAL, "serial", "one worker, row by row")                                                                      \
    X(LEVELS, "levels", "level sets: workers share the rows of a level, with a barrier after each")                    \
    X(CHUNKED, "chunked", "workers take chunks of rows in turn and wait for each other's progress")                    \
    X(P2P, "p2p", "rows of a level together; a worker waits only for the workers whose rows it requires")              \
    X(GROWLOCAL, "growlocal", "supersteps of rows that go on where those that they require are; waits as p2p's")       \
    X(SUPERNODAL, "supernodal", "identical-pattern rows or columns as dense panels, by the BLAS; for direct factors")  \
    X(PUSH, "push", "rows are distributed in tasks; an unknown is stored once at every PE that requires it")           \
    X(UNIFIED, "unified", "by columns, rows in equal parts; one array of partial sums for all, by atomics")            \
    X(UNIFIED_TASKS, "unified-tasks", "the same, rows distributed in tasks")                                           \
    X(SHMEM, "shmem", "by columns, rows in equal parts; partial sums stay where they are made, and are read remotely") \
    X(ZEROCOPY, "zerocopy", "the same, rows distributed in tasks")

typedef enum tulle_trisolve_method {
#define TULLE_TRISOLVE_METHOD_ENUM(name, word, text) TULLE_TRISOLVE_##name,
    TULLE_TRISOLVE_METHOD_LIST(TULLE_TRISOLVE_METHOD_ENUM)
#undef TULLE_TRISOLVE_METHOD_ENUM
        TULLE_TRISOLVE_METHOD_COUNT
} tulle_trisolve_method;

/*
 * Not collective: a method's name, "unknown" for no method; and the method of a name, in any case:
 * TULLE_ERR_ARG, with all names, for others.
 */
TULLE_API const char *tulle_trisolve_method_name(tulle_trisolve_method method);
TULLE_API tulle_status tulle_trisolve_method_parse(const char *name, tulle_trisolve_method *method);

/* All zeros are the defaults. The same on all PEs. */
/*
 * solves, chunk, tasks, fanout or relax for a method that does not read it is TULLE_ERR_ARG; AUTO reads solves and
 * relax, and becomes a method that reads the others.
 */
typedef struct tulle_trisolve_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_trisolve_method method;
    tulle_uplo uplo; /* the triangle of T */
    tulle_op op;
    tulle_diag diag; /* UNIT: T has no diagonal entries, or they are ignored */
    /*
     * AUTO, SERIAL, CHUNKED: expected number of solves; 0: many. AUTO weighs analysis against solving, and CHUNKED the
     * choice of a chunk; 1, 2 with SERIAL, AUTO: rows are validated during the first execution
     */
    int64_t solves;
    int64_t chunk; /* CHUNKED: rows of a chunk; 0: by a model of the pipeline */
    int tasks;     /* PUSH, UNIFIED_TASKS, ZEROCOPY: parts of the rows of a PE; 0: by a model, 8, 8 */
    /*
     * PUSH: PEs to which an owner sends an unknown directly; if more require it, these relay it; 0:
     * 8
     */
    int fanout;
    double relax;    /* SUPERNODAL, AUTO: fraction of the stored values that may be zeros; 0: 0.2; negative: none */
    double patience; /* seconds that a worker waits for a row before the solve fails and names it; 0: 60 */
    /*
     * a spec of tulle/device.h. With SERIAL and LEVELS PE 0 opens it and solves there; the bits are
     * those of SERIAL on the host (`ref`: within rounding). A GPU begins rows in the order of
     * solving, or by levels, of which wide ones are launches; AUTO compares. Others know SERIAL
     * only. With PUSH and the paper's four each PE opens one, a GPU, and their kernels reach each
     * other's memory; PEs are threads of one process, at most 16. NULL: the host solves
     */
    const char *device;
} tulle_trisolve_options;

typedef struct tulle_trisolve tulle_trisolve;

typedef struct tulle_trisolve_report {
    double seconds;          /* of the call, the slowest PE */
    tulle_imbalance compute; /* workers on rows */
    tulle_imbalance wait;    /* workers waiting for rows of others */
    int64_t flops;           /* 2 x entries off the diagonal + rows, times columns; unit: without the rows */
    int64_t waits;           /* reads of another worker's progress, or of another PE's unknown */
    int64_t polls;           /* failed reads among these; the paper's four: words read in vain */
    int64_t messages;  /* PUSH: values stored at other PEs; the paper's four: reads and atomics there, except polls */
    int64_t faults;    /* page migrations to a PE (comm wrapper `migrate`) */
    bool reproducible; /* bitwise reproducible: X has the bits of SERIAL */
    int tasks;         /* of a PE; 0: does not apply */
    int workers;
    int64_t levels;     /* longest chain of dependent rows; GROWLOCAL: supersteps; 0: not counted */
    int64_t chunk;      /* rows of a chunk; 0: does not apply */
    int64_t supernodes; /* SUPERNODAL: dense triangles; else 0 */
    double analysis_seconds;
    size_t bytes;                 /* held by the analysis, of all PEs */
    tulle_trisolve_method method; /* of this execution: AUTO may use another for the next */
    bool trial;                   /* AUTO is still comparing methods, and this execution was part of that */
    /*
     * with a device: seconds that kernels were at work, of the slowest PE; NaN: the host solved
     */
    double kernel_seconds;
} tulle_trisolve_report;

/*
 * Collective: analysis of T, square and CSR, n x n. T stays the caller's, is only read, and must
 * outlive the solver. options may be NULL. *solver is set on success only, and freed by
 * tulle_trisolve_free. AUTO may make the first solves by several methods, and keep the fastest; all
 * of them give the same bits. Reports of these solves have `trial` set; every report describes the
 * method of its execution. TULLE_ERR_ARG, with the row, for an entry in the other triangle, or a
 * missing or zero pivot. TULLE_ERR_ARG for a device with CHUNKED, P2P or SUPERNODAL;
 * TULLE_ERR_UNSUPPORTED, with the reason, for a device that is not here or does not solve so, or PEs
 * of several processes; TULLE_ERR_LIMIT if the triangle does not fit there.
 */
TULLE_API tulle_status tulle_trisolve_new(
    const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **solver);

/*
 * Not collective: the layout of B and X, n x cols, that is solved in place; others are copied. The
 * caller frees it (tulle_layout_free). TULLE_ERR_ARG if cols is negative.
 */
TULLE_API tulle_status tulle_trisolve_layout(const tulle_trisolve *solver, tulle_gidx cols, tulle_layout **layout);

/*
 * Collective: X from B, both dense, n x any number of columns, of T's type, in any layouts. B and X
 * may be the same matrix. report may be NULL. Non-finite values of B propagate as in arithmetic.
 * Complete on return everywhere. TULLE_ERR_ARG for matrices of other shapes or types;
 * TULLE_ERR_STATE if T's structure has changed since the analysis, or a worker has waited longer
 * than options.patience, with the waiting row.
 */
TULLE_API tulle_status tulle_trisolve_execute(
    tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle_trisolve_report *report);

/*
 * Collective: updates to new values of T with the same structure. TULLE_ERR_ARG for a zero pivot;
 * TULLE_ERR_STATE if the structure has changed. After a failed update tulle_trisolve_execute is
 * TULLE_ERR_STATE until one succeeds.
 */
TULLE_API tulle_status tulle_trisolve_update(tulle_trisolve *solver);

/* Not collective: the solver's method; for AUTO the current one. */
TULLE_API tulle_trisolve_method tulle_trisolve_method_of(const tulle_trisolve *solver);

/* Collective: frees the solver, not T. NULL is allowed on all PEs. */
TULLE_API void tulle_trisolve_free(tulle_trisolve *solver);

/*
 * Collective: verifies X independently of its method. *error is the largest over all rows and
 * columns of |b - op(T) x| / (gamma (|op(T)| |x| + |b|)), gamma the rounding bound of a row's sum;
 * TULLE_ERR_CHECK, with the row, if it exceeds 1 or is not finite, as where B or X is not.
 */
TULLE_API tulle_status tulle_trisolve_check(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *B, const tulle_mat *X, double *error);

/*
 * Collective: B = op(T) X, every element summed in f64 and rounded once: right-hand sides with a
 * known solution. X and B are dense, of T's type and the same shape, in any layout; they may be the
 * same matrix. Only uplo, op and diag of the options are used, here and below; NULL is allowed.
 */
TULLE_API tulle_status tulle_trisolve_rhs(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *X, tulle_mat *B);

typedef struct tulle_forward {
    double error; /* the largest over all columns of max |x - known| / max |known| */
    double bound; /* the part that rounding may explain, by the comparison matrix of op(T); infinite: no statement */
    double share; /* the largest ratio of an element's |x - known| to its bound */
} tulle_forward;

/*
 * Collective: the error of X relative to the known solution of op(T) X = B, B by
 * tulle_trisolve_rhs. TULLE_ERR_CHECK, with the row and *forward up to that column, if an element's
 * error exceeds what rounding can explain, whatever the condition of op(T); the bound is as sharp
 * as a serial solve with |values| makes it (Higham, Accuracy and Stability of Numerical Algorithms,
 * 8.3).
 */
TULLE_API tulle_status tulle_trisolve_forward(const tulle_mat *T, const tulle_trisolve_options *options,
    const tulle_mat *known, const tulle_mat *X, tulle_forward *forward);

#ifdef __cplusplus
}
#endif
#endif
