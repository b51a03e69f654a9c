/* SPDX-License-Identifier: Apache-2.0 */
/* What a product run has found out, and how it is shown. */
#ifndef TULLE_TOOL_RESULT_H
#define TULLE_TOOL_RESULT_H

#include <stdio.h>

#include <tulle/tulle.h>

enum { REPS_MAX = 1000 };

/* By the kinds of A, and of B and C: sparse dense, sparse sparse, dense dense. */
enum product_kind { SPMM, SPGEMM, GEMM };
/* "spmm", ... */
const char *product_word(enum product_kind kind);

/* Of one PE: what a roofline plot is made of (paper rdma-spmm-spgemm, Figure 2). */
struct roof {
    double peak, stream, network; /* flops a second; bytes a second from memory, over the network (0: not known) */
    tulle_roofline local;
};

struct result {
    enum product_kind kind;
    char alg[32], comm[256], operand[256];
    int pes, threads;
    int simulated; /* times are virtual, and there is no bound */
    tulle_type type;
    tulle_gidx m, k, n;
    int64_t nnz_a, nnz_b, nnz_c;
    double seconds, reused; /* medians; each the time of one run */
    double all[REPS_MAX];
    int reps, run;               /* run: that of the report */
    tulle_product_report report; /* of the run whose time is `seconds` */
    tulle_bound bound;
    struct roof roof;
    int grid_rows, grid_cols;
    size_t memory_peak;
    int checked, passed;
    double error;
    char failure[256];
    char plan[256];
    char refusal[256]; /* why the algorithm was left out; empty: it was not */
};

/* Which of n runs has the median time; of an even number the faster of the two in the middle. Then that time. */
int median_run(const double *values, int n);
double median(const double *values, int n);

/* The roofs of this product on a machine: what of the result must be known are the sizes, entries and flops. */
struct roof roof_of(const tulle_machine *machine, enum product_kind kind, int threads, int pes, tulle_type type,
    const struct result *r);

/* Text as JSON has it; the members of a roof. */
void json_text(const char *text, FILE *file);
void json_spread(const char *name, tulle_imbalance s, FILE *file);
/* Where times are of: this host, or the simulation that `comm` names. A member. */
void json_machine(int simulated, const char *comm, FILE *file);
void json_roof(const struct roof *roof, FILE *file);

/* One JSON object, one line. */
void result_json(const struct result *r, FILE *file);

/* The table's head, one line of it, and what stands below. */
void result_head(const struct result *r, FILE *file);
void result_line(const struct result *r, FILE *file);
void result_foot(const struct result *r, FILE *file);
/* One line, of an algorithm that chose what moves between some pairs of tiles; else nothing. */
void result_transfers(const struct result *r, FILE *file);
/* One line, of an algorithm by which PEs take work from each other. */
void result_steals(const struct result *r, FILE *file);

#endif
