/* SPDX-License-Identifier: Apache-2.0 */
/* PDGEMR2D's and PSGEMR2D's arguments become those of tulle_cyclic_redistribute. */
#include <stdlib.h>
#include <string.h>

#include <tulle/scalapack.h>
#include <tulle/words.h>

#include "scalapack/argument.h"
#include "scalapack/grid_team.h"

/* PDGEMR2D's numbers of arguments, for messages. */
enum { M = 1, N = 2, DESCA = 6, DESCB = 10, CONTEXT = 11 };

struct call {
    tulle__call call;
    int m, n, context;
    tulle_type type;
    const void *A;
    void *B;
    tulle__argument a, b;
    tulle__grid_team grid;
};

/* Facts of a process about a matrix: its place in the grid and its descriptor. */
struct place {
    int rows, cols, row, col; /* rows = 0: it is not in the grid */
    int descriptor[TULLE_DESCRIPTOR_LENGTH];
};

static struct place place_of(const int *descriptor)
{
    struct place x = {.rows = 0};
    if (descriptor[TULLE__CONTEXT] < 0) return x;
    Cblacs_gridinfo(descriptor[TULLE__CONTEXT], &x.rows, &x.cols, &x.row, &x.col);
    if (x.rows < 1 || x.cols < 1 || x.row < 0 || x.col < 0) return (struct place){.rows = 0};
    memcpy(x.descriptor, descriptor, sizeof x.descriptor);
    return x;
}

/* The entry in which two descriptors of one matrix differ, or -1. Contexts and leading dimensions are each process's.
 */
static int differs(const int *x, const int *y)
{
    for (int e = 0; e < TULLE_DESCRIPTOR_LENGTH - 1; e++)
        if (e != TULLE__CONTEXT && x[e] != y[e]) return e;
    return -1;
}

/* The ranks of the grid of matrix `which`, of which process `known` of the team is one. */
static tulle_status find_ranks(
    struct call *x, const tulle__argument *matrix, struct place (*place)[2], int which, int npes, int known, int *rank)
{
    const struct place *first = &place[known][which];
    int number = first->rows * first->cols;
    for (int e = 0; e < number; e++) rank[e] = -1;
    for (int r = 0; r < npes; r++) {
        const struct place *at = &place[r][which];
        if (!at->rows) continue;
        int entry = at->rows != first->rows || at->cols != first->cols ? TULLE__CONTEXT
                                                                       : differs(at->descriptor, first->descriptor);
        if (entry >= 0)
            return tulle__wrong_argument(&x->call, matrix->number, matrix->name,
                "entry %d of the descriptor is not the same on all processes", entry + 1);
        rank[at->row * at->cols + at->col] = r;
    }
    for (int e = 0; e < number; e++)
        if (rank[e] < 0)
            return tulle__wrong_argument(&x->call, matrix->number, matrix->name,
                "process (%d, %d) of its grid is not in that of argument %d (ICTXT)", e / first->cols, e % first->cols,
                CONTEXT);
    return TULLE_OK;
}

/* A matrix by what all processes know of it. *rank: the ranks of its grid, which the caller frees. */
static tulle_status read_matrix(
    struct call *x, tulle__argument *matrix, struct place (*place)[2], int which, const tulle_comm *comm, int **rank)
{
    int known = 0, npes = tulle_comm_size(comm);
    const struct place *own = &place[tulle_comm_rank(comm)][which];
    while (known < npes && !place[known][which].rows) known++;
    if (known == npes)
        return tulle__wrong_argument(&x->call, matrix->number, matrix->name,
            "no process of argument %d (ICTXT) is in the grid of entry 2 (CTXT_) of the descriptor", CONTEXT);
    int rows = place[known][which].rows, cols = place[known][which].cols;
    *rank = malloc((size_t)rows * (size_t)cols * sizeof **rank);
    if (!*rank) return TULLE_ERR_MEMORY;
    tulle_status status = find_ranks(x, matrix, place, which, npes, known, *rank);
    if (status != TULLE_OK) return status;
    matrix->descriptor = place[known][which].descriptor;
    status = tulle__read_argument(&x->call, matrix, rows, cols, x->m, x->n);
    matrix->cyclic.rank = *rank;
    if (own->rows) matrix->part.ld = own->descriptor[TULLE_DESCRIPTOR_LENGTH - 1];
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct call *x = arg;
    int *rank_a = NULL, *rank_b = NULL;
    const struct place own[2] = {place_of(x->a.descriptor), place_of(x->b.descriptor)};
    struct place(*place)[2] = malloc((size_t)tulle_comm_size(comm) * sizeof own);
    tulle_status status = tulle_comm_agree(comm, place ? TULLE_OK : TULLE_ERR_MEMORY);
    if (status == TULLE_OK) status = tulle_comm_allgather(comm, own, sizeof own, place);
    if (status == TULLE_OK) {
        status = tulle__size_argument(&x->call, M, "M", x->m);
        if (status == TULLE_OK) status = tulle__size_argument(&x->call, N, "N", x->n);
        if (status == TULLE_OK) status = read_matrix(x, &x->a, place, 0, comm, &rank_a);
        if (status == TULLE_OK) status = read_matrix(x, &x->b, place, 1, comm, &rank_b);
        status = tulle__agree_call(comm, status, &x->call);
    }
    if (status == TULLE_OK) status = tulle_cyclic_redistribute(comm, x->type, &x->a.part, x->A, &x->b.part, x->B);
    free(rank_a);
    free(rank_b);
    free(place);
    return status;
}

static tulle_status run(struct call *x)
{
    if (!x->a.descriptor || !x->b.descriptor)
        return tulle_fail(TULLE_ERR_ARG, "%s: a descriptor is NULL", x->call.name);
    tulle_status status = tulle__grid_team_of(x->context, &x->grid);
    if (status == TULLE_ERR_ARG)
        return tulle_fail(status, "%s: argument %d (ICTXT) is %d, a context whose grid this process is not in",
            x->call.name, CONTEXT, x->context);
    return status == TULLE_OK ? tulle_team_run(x->grid.team, body, x) : status;
}

#define CALL(routine, t)                                                                                               \
    {                                                                                                                  \
        .call = {.name = routine}, .m = m, .n = n, .context = context, .type = t, .A = A, .B = B,                      \
        .a = {.name = "DESCA", .number = DESCA, .row = ia, .col = ja, .descriptor = desca}, .b = {                     \
            .name = "DESCB",                                                                                           \
            .number = DESCB,                                                                                           \
            .row = ib,                                                                                                 \
            .col = jb,                                                                                                 \
            .descriptor = descb                                                                                        \
        }                                                                                                              \
    }

tulle_status tulle_pdgemr2d(int m, int n, const double *A, int ia, int ja, const int *desca, double *B, int ib, int jb,
    const int *descb, int context)
{
    struct call call = CALL("tulle_pdgemr2d", TULLE_F64);
    return run(&call);
}

tulle_status tulle_psgemr2d(int m, int n, const float *A, int ia, int ja, const int *desca, float *B, int ib, int jb,
    const int *descb, int context)
{
    struct call call = CALL("tulle_psgemr2d", TULLE_F32);
    return run(&call);
}

void tulle_pdgemr2d_(const int *m, const int *n, const double *A, const int *ia, const int *ja, const int *desca,
    double *B, const int *ib, const int *jb, const int *descb, const int *context)
{
    tulle__end_job_if(tulle_pdgemr2d(*m, *n, A, *ia, *ja, desca, B, *ib, *jb, descb, *context), *context);
}

void tulle_psgemr2d_(const int *m, const int *n, const float *A, const int *ia, const int *ja, const int *desca,
    float *B, const int *ib, const int *jb, const int *descb, const int *context)
{
    tulle__end_job_if(tulle_psgemr2d(*m, *n, A, *ia, *ja, desca, B, *ib, *jb, descb, *context), *context);
}
