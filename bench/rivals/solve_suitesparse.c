/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SuiteSparse: cs_di_lsolve of CXSparse, serial, in place and by columns, one right-hand side after the other. Copying
 * b to where x comes is not timed. KLU's and CHOLMOD's solves take their own factors only.
 */
#include <cs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

struct solve {
    rival_case *work;
    cs_di L;
    double *X; /* [cols][n] */
};

/* T by columns, which are the rows of its transpose; the diagonal first. */
static void prepare(struct solve *s)
{
    const rival_csr *A = &s->work->A;
    int64_t more = s->work->unit ? A->m : 0, at = 0;
    rival_csr T;
    rival_transpose(A, 1, &T);
    if (T.nnz + more > INT32_MAX) rival_die("CXSparse: over 2^31 entries");
    s->L = (cs_di){.nzmax = (int)(T.nnz + more), .m = (int)T.m, .n = (int)T.n, .nz = -1};
    s->L.p = malloc(((size_t)T.m + 1) * sizeof *s->L.p);
    s->L.i = malloc((size_t)(T.nnz + more) * sizeof *s->L.i);
    s->L.x = malloc((size_t)(T.nnz + more) * sizeof *s->L.x);
    if (!s->L.p || !s->L.i || !s->L.x) rival_die("out of memory");
    for (int64_t c = 0; c < T.m; c++) {
        s->L.p[c] = (int)at;
        if (more) {
            s->L.i[at] = (int)c;
            s->L.x[at++] = 1;
        }
        for (int64_t e = T.rowptr[c]; e < T.rowptr[c + 1]; e++, at++) {
            s->L.i[at] = T.colind[e];
            s->L.x[at] = ((const double *)T.val)[e];
        }
    }
    s->L.p[T.m] = (int)at;
}

static void run(void *context, double *seconds, double *extra)
{
    struct solve *s = context;
    int64_t n = s->work->A.m, cols = s->work->cols;
    (void)extra;
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < n; r++) s->X[c * n + r] = s->work->B_f64[r * cols + c];
    double start = rival_now();
    for (int64_t c = 0; c < cols; c++)
        if (!cs_di_lsolve(&s->L, s->X + c * n)) rival_die("CXSparse: cs_di_lsolve failed");
    *seconds = rival_now() - start;
}

int main(int argc, char **argv)
{
    static rival_case work;
    struct solve s = {.work = &work};
    rival_environment(argc, argv, 0);
    rival_open(&work, "suitesparse", argc, argv, 0, 1);
    if (!work.solve) rival_die("bench_solve_suitesparse: --op solve");
    work.threads = 1;
    snprintf(work.version, sizeof work.version, "CXSparse %d.%d.%d", CS_VER, CS_SUBVER, CS_SUBSUB);
    snprintf(work.code_path, sizeof work.code_path, "cs_di_lsolve");
    work.nnz_c = work.A.m * work.cols;
    work.flops = 2.0 * (double)work.A.nnz * (double)work.cols;
    s.X = calloc((size_t)work.nnz_c, sizeof *s.X);
    if (!s.X) rival_die("out of memory");
    double start = rival_now();
    prepare(&s);
    work.setup = rival_now() - start;
    rival_measure(&work, run, &s);
    rival_checksum(&work, s.X, work.nnz_c);
    rival_report(&work);
    return 0;
}
