/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a product run, and its output. */
#ifndef TULLE_TOOL_RESULT_H
#define TULLE_TOOL_RESULT_H

#include <stdio.h>

#include <tulle/tulle.h>

enum { REPS_MAX = 1000 };

/* By the kinds of A, and of B and C: sparse dense, sparse sparse, dense dense. */
enum product_kind { SPMM, SPGEMM, GEMM };
/* "spmm", ... */
const char *product_word(enum product_kind kind);

/* The roofs of one PE, for a roofline plot (paper rdma-spmm-spgemm, Figure 2). */
struct roof {
    double peak, stream, network; /* flops a second; bytes a second from memory, over the network (0: unknown) */
    tulle_roofline local;
};

/* The order of --permute, and the seconds until A had it, which no other time has; NULL without it. */
struct ordered {
    const char *name;
    double seconds;
};

/* A line; a member, with a comma before it. Nothing without an order. */
void ordered_text(const struct ordered *ordered, FILE *file);
void ordered_json(const struct ordered *ordered, FILE *file);

struct result {
    enum product_kind kind;
    char alg[32], comm[256], operand[256];
    int pes, threads;
    int simulated; /* times are virtual, and there is no bound */
    int guessed;   /* bound and prediction are by figures of a kind of processor */
    int wide;      /* all columns of the table, also on a narrow terminal */
    tulle_type type;
    tulle_kind format; /* of A */
    tulle_gidx m, k, n;
    int64_t nnz_a, nnz_b, nnz_c;
    double filter;                         /* 0: none */
    double block_flops[TULLE_BLOCK_SIZES]; /* by the sizes of blocks, if they were counted */
    double seconds, reused;                /* medians; each the time of one run */
    double all[REPS_MAX];
    int reps, run;               /* run: that of the report */
    tulle_product_report report; /* of the run whose time is `seconds` */
    tulle_bound bound;
    struct roof roof;
    int grid_rows, grid_cols;
    size_t memory_peak;
    int checked, passed;
    int64_t infinite; /* checked: rows of C that are not finite */
    double error;
    char failure[256];
    struct ordered ordered;
    char plan[256];
    char refusal[256]; /* why the algorithm was skipped; empty: it ran */
};

/*
 * The index of the run with the median time among n; for an even n the faster of the two middle
 * ones. The second returns the time.
 */
int median_run(const double *values, int n);
double median(const double *values, int n);

/* The roofs of this product on a machine; the result's sizes, entries and flops must be set. */
struct roof roof_of(const tulle_machine *machine, enum product_kind kind, int threads, int pes, tulle_type type,
    const struct result *r);

/* "warnings":[...], a text for each line. */
void json_warnings(const char *warnings, FILE *file);
void json_imbalance(const char *name, tulle_imbalance s, FILE *file);
/* Prints the origin of times: this host, or the simulation `comm`. A member. */
void json_machine(int simulated, const char *comm, FILE *file);
void json_roof(const struct roof *roof, FILE *file);

/* Prints one JSON object on one line. */
void result_json(const struct result *r, FILE *file);

/* Prints the head of the table, one line of it, and the text below. */
void result_head(const struct result *r, FILE *file);
void result_line(const struct result *r, FILE *file);
void result_foot(const struct result *r, FILE *file);
/* Prints a line for an algorithm that chose transfers for pairs of tiles; else nothing. */
void result_transfers(const struct result *r, FILE *file);
/* Prints a line for a product on devices. */
void result_filter(const struct result *r, FILE *file);
/* If flops of products of blocks are known: their shares by size; a JSON list. */
void block_flops_text(const double flops[TULLE_BLOCK_SIZES], FILE *file);
void block_flops_json(const double flops[TULLE_BLOCK_SIZES], FILE *file);
/* Kernels that multiplied blocks; nothing if none did. */
void result_block_kernels(const struct result *r, FILE *file);
void result_devices(const struct result *r, FILE *file);
/* Prints a line for an algorithm with stealing. */
void result_steals(const struct result *r, FILE *file);

#endif
