/* SPDX-License-Identifier: Apache-2.0 */
/* PDGEMM's and PSGEMM's arguments become those of tulle_gemm_cyclic. */
#include <stdio.h>
#include <string.h>

#include <tulle/cyclic.h>
#include <tulle/scalapack.h>
#include <tulle/words.h>

#include "scalapack/grid_team.h"

/* PDGEMM's numbers of arguments, for messages. */
enum { TRANSA = 1, TRANSB = 2, M = 3, N = 4, K = 5, DESCA = 10, DESCB = 14, DESCC = 19 };
enum { CONTEXT = 1, MESSAGE = 400 };

struct matrix {
    const char *name;
    int number; /* of the descriptor, among the arguments */
    int row, col, m, n;
    const int *descriptor;
    tulle_cyclic cyclic;
    tulle_cyclic_part part;
};

struct call {
    const char *name;
    char trans[2];
    int m, n, k;
    tulle_type type;
    double alpha, beta;
    const void *A, *B;
    void *C;
    struct matrix a, b, c;
    tulle__grid_team grid;
    char message[MESSAGE];
};

/* The message goes into the call: the team's own comes last. */
static tulle_status wrong(struct call *x, int number, const char *name, const char *cause)
{
    snprintf(x->message, sizeof x->message, "%s: argument %d (%s): %s", x->name, number, name, cause);
    return TULLE_ERR_ARG;
}

static tulle_status op_of(struct call *x, int which, tulle_op *op)
{
    char letter = x->trans[which], cause[64];
    if (strchr("nN", letter) && letter) return *op = TULLE_OP_N, TULLE_OK;
    if (strchr("tTcC", letter) && letter) return *op = TULLE_OP_T, TULLE_OK;
    snprintf(cause, sizeof cause, "'%c' is neither N nor T nor C", letter);
    return wrong(x, which ? TRANSB : TRANSA, which ? "TRANSB" : "TRANSA", cause);
}

static tulle_status check_sizes(struct call *x)
{
    const int size[] = {x->m, x->n, x->k};
    static const char *const name[] = {"M", "N", "K"};
    char cause[64];
    for (int i = 0; i < 3; i++)
        if (size[i] < 0) {
            snprintf(cause, sizeof cause, "a size cannot be %d", size[i]);
            return wrong(x, M + i, name[i], cause);
        }
    return TULLE_OK;
}

static tulle_status read_matrix(struct call *x, struct matrix *matrix, tulle_op op, int m, int n)
{
    char cause[MESSAGE / 2];
    const int *d = matrix->descriptor;
    tulle_cyclic *cyclic = &matrix->cyclic;
    int64_t ld;
    if (d[CONTEXT] != x->a.descriptor[CONTEXT]) {
        snprintf(cause, sizeof cause, "entry 2 (CTXT_) of the descriptor is %d, but that of DESCA is %d", d[CONTEXT],
            x->a.descriptor[CONTEXT]);
        return wrong(x, matrix->number, matrix->name, cause);
    }
    if (tulle_cyclic_from_descriptor(d, x->grid.rows, x->grid.cols, cyclic, &ld) != TULLE_OK)
        return wrong(x, matrix->number, matrix->name, tulle_error_message());
    matrix->m = op == TULLE_OP_N ? m : n;
    matrix->n = op == TULLE_OP_N ? n : m;
    matrix->part = (tulle_cyclic_part){
        .cyclic = cyclic, .row = matrix->row - 1, .col = matrix->col - 1, .m = matrix->m, .n = matrix->n, .ld = ld};
    /* ScaLAPACK takes any place for a part of no elements */
    if (!matrix->m || !matrix->n) matrix->part.row = matrix->part.col = 0;
    if (matrix->part.row < 0 || matrix->part.col < 0 || matrix->part.row + matrix->m > cyclic->m ||
        matrix->part.col + matrix->n > cyclic->n) {
        snprintf(cause, sizeof cause,
            "the part of %d x %d at (%d, %d) is outside of %d x %d, entries 3 (M_) and 4 (N_) of the descriptor",
            matrix->m, matrix->n, matrix->row, matrix->col, d[2], d[3]);
        return wrong(x, matrix->number, matrix->name, cause);
    }
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct call *x = arg;
    tulle_op op_a = TULLE_OP_N, op_b = TULLE_OP_N;
    tulle_status status = op_of(x, 0, &op_a);
    if (status == TULLE_OK) status = op_of(x, 1, &op_b);
    if (status == TULLE_OK) status = check_sizes(x);
    if (status == TULLE_OK) status = read_matrix(x, &x->a, op_a, x->m, x->k);
    if (status == TULLE_OK) status = read_matrix(x, &x->b, op_b, x->k, x->n);
    if (status == TULLE_OK) status = read_matrix(x, &x->c, TULLE_OP_N, x->m, x->n);
    if (status != TULLE_OK) (void)tulle_fail(status, "%s", x->message);
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK) return status;
    return tulle_gemm_cyclic(
        comm, x->type, op_a, &x->a.part, x->A, op_b, &x->b.part, x->B, x->alpha, x->beta, &x->c.part, x->C, NULL);
}

static tulle_status run(struct call *x)
{
    if (!x->a.descriptor || !x->b.descriptor || !x->c.descriptor)
        return tulle_fail(TULLE_ERR_ARG, "%s: a descriptor is NULL", x->name);
    tulle_status status = tulle__grid_team_of(x->a.descriptor[CONTEXT], &x->grid);
    if (status == TULLE_ERR_ARG)
        return tulle_fail(status,
            "%s: argument %d (DESCA): entry 2 (CTXT_) of the descriptor is %d, a context whose grid this process is "
            "not in",
            x->name, DESCA, x->a.descriptor[CONTEXT]);
    return status == TULLE_OK ? tulle_team_run(x->grid.team, body, x) : status;
}

#define MATRIX(letter, r, c, d)                                                                                        \
    {                                                                                                                  \
        .name = "DESC" #letter, .number = DESC##letter, .row = r, .col = c, .descriptor = d                            \
    }
#define CALL(routine, t)                                                                                               \
    {                                                                                                                  \
        .name = routine, .trans = {transa, transb}, .m = m, .n = n, .k = k, .type = t, .alpha = alpha, .beta = beta,   \
        .A = A, .B = B, .C = C, .a = MATRIX(A, ia, ja, desca), .b = MATRIX(B, ib, jb, descb),                          \
        .c = MATRIX(C, ic, jc, descc)                                                                                  \
    }

tulle_status tulle_pdgemm(char transa, char transb, int m, int n, int k, double alpha, const double *A, int ia, int ja,
    const int *desca, const double *B, int ib, int jb, const int *descb, double beta, double *C, int ic, int jc,
    const int *descc)
{
    struct call call = CALL("tulle_pdgemm", TULLE_F64);
    return run(&call);
}

tulle_status tulle_psgemm(char transa, char transb, int m, int n, int k, float alpha, const float *A, int ia, int ja,
    const int *desca, const float *B, int ib, int jb, const int *descb, float beta, float *C, int ic, int jc,
    const int *descc)
{
    struct call call = CALL("tulle_psgemm", TULLE_F32);
    return run(&call);
}

static void end_job_if(tulle_status status, const int *desca)
{
    if (status == TULLE_OK) return;
    fprintf(stderr, "%s\n", tulle_error_message());
    fflush(stderr);
    Cblacs_abort(desca[CONTEXT], 1);
}

void tulle_pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
    const double *alpha, const double *A, const int *ia, const int *ja, const int *desca, const double *B,
    const int *ib, const int *jb, const int *descb, const double *beta, double *C, const int *ic, const int *jc,
    const int *descc)
{
    end_job_if(tulle_pdgemm(*transa, *transb, *m, *n, *k, *alpha, A, *ia, *ja, desca, B, *ib, *jb, descb, *beta, C, *ic,
                   *jc, descc),
        desca);
}

void tulle_psgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
    const float *A, const int *ia, const int *ja, const int *desca, const float *B, const int *ib, const int *jb,
    const int *descb, const float *beta, float *C, const int *ic, const int *jc, const int *descc)
{
    end_job_if(tulle_psgemm(*transa, *transb, *m, *n, *k, *alpha, A, *ia, *ja, desca, B, *ib, *jb, descb, *beta, C, *ic,
                   *jc, descc),
        desca);
}
