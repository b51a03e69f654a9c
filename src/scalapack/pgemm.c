/* SPDX-License-Identifier: Apache-2.0 */
/* PDGEMM's and PSGEMM's arguments become those of tulle_gemm_cyclic. */
#include <string.h>

#include <tulle/scalapack.h>
#include <tulle/words.h>

#include "scalapack/argument.h"
#include "scalapack/grid_team.h"

/* PDGEMM's numbers of arguments, for messages. */
enum { TRANSA = 1, TRANSB = 2, M = 3, N = 4, K = 5, DESCA = 10, DESCB = 14, DESCC = 19 };

struct call {
    tulle__call call;
    char trans[2];
    int m, n, k;
    tulle_type type;
    double alpha, beta;
    const void *A, *B;
    void *C;
    tulle__argument a, b, c;
    tulle__grid_team grid;
};

static tulle_status op_of(struct call *x, int which, tulle_op *op)
{
    char letter = x->trans[which];
    if (strchr("nN", letter) && letter) return *op = TULLE_OP_N, TULLE_OK;
    if (strchr("tTcC", letter) && letter) return *op = TULLE_OP_T, TULLE_OK;
    return tulle__wrong_argument(
        &x->call, which ? TRANSB : TRANSA, which ? "TRANSB" : "TRANSA", "'%c' is neither N nor T nor C", letter);
}

/* op(matrix) is m x n. */
static tulle_status read_matrix(struct call *x, tulle__argument *matrix, tulle_op op, int m, int n)
{
    int context = matrix->descriptor[TULLE__CONTEXT], that_of_a = x->a.descriptor[TULLE__CONTEXT];
    if (context != that_of_a)
        return tulle__wrong_argument(&x->call, matrix->number, matrix->name,
            "entry 2 (CTXT_) of the descriptor is %d, but that of DESCA is %d", context, that_of_a);
    return tulle__read_argument(
        &x->call, matrix, x->grid.rows, x->grid.cols, op == TULLE_OP_N ? m : n, op == TULLE_OP_N ? n : m);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct call *x = arg;
    tulle_op op_a = TULLE_OP_N, op_b = TULLE_OP_N;
    tulle_status status = op_of(x, 0, &op_a);
    if (status == TULLE_OK) status = op_of(x, 1, &op_b);
    if (status == TULLE_OK) status = tulle__size_argument(&x->call, M, "M", x->m);
    if (status == TULLE_OK) status = tulle__size_argument(&x->call, N, "N", x->n);
    if (status == TULLE_OK) status = tulle__size_argument(&x->call, K, "K", x->k);
    if (status == TULLE_OK) status = read_matrix(x, &x->a, op_a, x->m, x->k);
    if (status == TULLE_OK) status = read_matrix(x, &x->b, op_b, x->k, x->n);
    if (status == TULLE_OK) status = read_matrix(x, &x->c, TULLE_OP_N, x->m, x->n);
    status = tulle__agree_call(comm, status, &x->call);
    if (status != TULLE_OK) return status;
    return tulle_gemm_cyclic(
        comm, x->type, op_a, &x->a.part, x->A, op_b, &x->b.part, x->B, x->alpha, x->beta, &x->c.part, x->C, NULL);
}

static tulle_status run(struct call *x)
{
    if (!x->a.descriptor || !x->b.descriptor || !x->c.descriptor)
        return tulle_fail(TULLE_ERR_ARG, "%s: a descriptor is NULL", x->call.name);
    tulle_status status = tulle__grid_team_of(x->a.descriptor[TULLE__CONTEXT], &x->grid);
    if (status == TULLE_ERR_ARG)
        return tulle_fail(status,
            "%s: argument %d (DESCA): entry 2 (CTXT_) of the descriptor is %d, a context whose grid this process is "
            "not in",
            x->call.name, DESCA, x->a.descriptor[TULLE__CONTEXT]);
    return status == TULLE_OK ? tulle_team_run(x->grid.team, body, x) : status;
}

#define MATRIX(letter, r, c, d)                                                                                        \
    {                                                                                                                  \
        .name = "DESC" #letter, .number = DESC##letter, .row = r, .col = c, .descriptor = d                            \
    }
#define CALL(routine, t)                                                                                               \
    {                                                                                                                  \
        .call = {.name = routine}, .trans = {transa, transb}, .m = m, .n = n, .k = k, .type = t, .alpha = alpha,       \
        .beta = beta, .A = A, .B = B, .C = C, .a = MATRIX(A, ia, ja, desca), .b = MATRIX(B, ib, jb, descb),            \
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

void tulle_pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
    const double *alpha, const double *A, const int *ia, const int *ja, const int *desca, const double *B,
    const int *ib, const int *jb, const int *descb, const double *beta, double *C, const int *ic, const int *jc,
    const int *descc)
{
    tulle__end_job_if(tulle_pdgemm(*transa, *transb, *m, *n, *k, *alpha, A, *ia, *ja, desca, B, *ib, *jb, descb, *beta,
                          C, *ic, *jc, descc),
        desca[TULLE__CONTEXT]);
}

void tulle_psgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
    const float *A, const int *ia, const int *ja, const int *desca, const float *B, const int *ib, const int *jb,
    const int *descb, const float *beta, float *C, const int *ic, const int *jc, const int *descc)
{
    tulle__end_job_if(tulle_psgemm(*transa, *transb, *m, *n, *k, *alpha, A, *ia, *ja, desca, B, *ib, *jb, descb, *beta,
                          C, *ic, *jc, descc),
        desca[TULLE__CONTEXT]);
}
