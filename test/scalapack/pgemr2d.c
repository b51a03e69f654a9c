/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_pdgemr2d and tulle_psgemr2d as a program with ScaLAPACK calls them: between drawn grids of
 * some of the processes, with drawn descriptors and parts, against PDGEMR2D and PSGEMR2D; wrong
 * arguments. pgemr2d ROUNDS: copies.
 */
#include <string.h>

#include <tulle/scalapack.h>
#include <tulle/status.h>

#include "scalapack/blacs.h"
#include "tap.h"

void pdgemr2d_(const int *m, const int *n, const double *A, const int *ia, const int *ja, const int *desca, double *B,
    const int *ib, const int *jb, const int *descb, const int *context);
void psgemr2d_(const int *m, const int *n, const float *A, const int *ia, const int *ja, const int *desca, float *B,
    const int *ib, const int *jb, const int *descb, const int *context);

struct matrix {
    int context, P, Q, p, q; /* context = -1: this process is not in the grid, of P x Q processes */
    int d[9], i, j;          /* descriptor; where the part begins, from 1 */
    int capacity;            /* elements of the arrays */
    double *f64, *f64_peer;
    float *f32, *f32_peer;
};

/* A matrix on the first P x Q processes, from the last on if `turned`, with whole numbers. */
static struct matrix make(int size, int P, int Q, int turned, int m, int n, int salt)
{
    int map[16], rows, cols, at;
    struct matrix x = {.P = P, .Q = Q, .p = -1, .q = -1};
    for (int e = 0; e < P * Q; e++) map[e] = turned ? size - 1 - e : e;
    Cblacs_get(-1, 0, &x.context);
    Cblacs_gridmap(&x.context, map, P, P, Q);
    if (x.context >= 0) Cblacs_gridinfo(x.context, &rows, &cols, &x.p, &x.q);
    x.i = draw(1, 4);
    x.j = draw(1, 4);
    const int d[9] = {1, x.p < 0 ? -1 : x.context, m + x.i - 1 + draw(0, 2), n + x.j - 1 + draw(0, 2), draw(1, 5),
        draw(1, 5), draw(0, P - 1), draw(0, Q - 1), 0};
    memcpy(x.d, d, sizeof d);
    if (x.p >= 0) {
        x.d[8] = numroc_(&x.d[2], &x.d[4], &x.p, &x.d[6], &P) + x.p % 2 + 1;
        x.capacity = x.d[8] * numroc_(&x.d[3], &x.d[5], &x.q, &x.d[7], &Q);
    } else
        memset(&x.d[2], 0x55, 7 * sizeof *x.d); /* must not be read */
    x.f64 = buffer_of((size_t)x.capacity, sizeof *x.f64);
    x.f64_peer = buffer_of((size_t)x.capacity, sizeof *x.f64);
    x.f32 = buffer_of((size_t)x.capacity, sizeof *x.f32);
    x.f32_peer = buffer_of((size_t)x.capacity, sizeof *x.f32);
    for (int j = 0; j < x.d[3] && x.p >= 0; j++)
        for (int i = 0; i < x.d[2]; i++) {
            if ((at = place_of(x.d, P, Q, x.p, x.q, i, j)) < 0) continue;
            x.f64[at] = x.f64_peer[at] = i * 100 + j + salt;
            x.f32[at] = x.f32_peer[at] = (float)x.f64[at];
        }
    return x;
}

static void drop(struct matrix *x)
{
    if (x->p >= 0) Cblacs_gridexit(x->context);
    free(x->f64);
    free(x->f64_peer);
    free(x->f32);
    free(x->f32_peer);
}

/* A grid of at most `size` processes. */
static void draw_grid(int size, int *P, int *Q)
{
    *P = draw(1, size);
    *Q = draw(1, size / *P);
}

static int copy(int context, int size, int round)
{
    int P, Q, good = 1, m = round % 8 == 5 ? 0 : draw(1, 23), n = round % 8 == 6 ? 0 : draw(1, 23);
    draw_grid(size, &P, &Q);
    struct matrix a = make(size, P, Q, draw(0, 1), m, n, 1);
    draw_grid(size, &P, &Q);
    struct matrix b = make(size, P, Q, draw(0, 1), m, n, 500000);
    pdgemr2d_(&m, &n, a.f64, &a.i, &a.j, a.d, b.f64_peer, &b.i, &b.j, b.d, &context);
    psgemr2d_(&m, &n, a.f32, &a.i, &a.j, a.d, b.f32_peer, &b.i, &b.j, b.d, &context);
    if (round % 2) {
        good &= tulle_pdgemr2d(m, n, a.f64, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, context) == TULLE_OK;
        good &= tulle_psgemr2d(m, n, a.f32, a.i, a.j, a.d, b.f32, b.i, b.j, b.d, context) == TULLE_OK;
    } else {
        tulle_pdgemr2d_(&m, &n, a.f64, &a.i, &a.j, a.d, b.f64, &b.i, &b.j, b.d, &context);
        tulle_psgemr2d_(&m, &n, a.f32, &a.i, &a.j, a.d, b.f32, &b.i, &b.j, b.d, &context);
    }
    for (int e = 0; e < b.capacity; e++) good &= b.f64[e] == b.f64_peer[e] && b.f32[e] == b.f32_peer[e];
    for (int e = 0; e < a.capacity; e++) good &= a.f64[e] == a.f64_peer[e];
    if (!good && !tap_failed)
        printf("# %d x %d from %d x %d to %d x %d processes differs; %s\n", m, n, a.P, a.Q, b.P, b.Q,
            tulle_error_message());
    drop(&a);
    drop(&b);
    return same_everywhere(good);
}

/* Each wrong argument is refused in all processes, with its name, and B stays. */
static void refusals(int context, int size)
{
    static const char *const says[] = {"argument 1 (M)", "argument 2 (N)", "argument 6 (DESCA): entry 5 (MB_)",
        "argument 10 (DESCB): entry 1 (DTYPE_)", "argument 6 (DESCA): the part of 6 x 6 at (100",
        "argument 10 (DESCB): the part of 6 x 6 at (1, 0)", "argument 6 (DESCA): no process", "LLD_", "in common",
        "argument 10 (DESCB): entry 4 of the descriptor is not the same"};
    int cases = (int)(sizeof says / sizeof *says) - (size == 1);
    for (int wrong = 0; wrong < cases; wrong++) {
        struct matrix a = make(size, 1, size, 0, 6, 6, 1), b = make(size, size, 1, 0, 6, 6, 2);
        int m = wrong == 0 ? -1 : 6, n = wrong == 1 ? -3 : 6;
        if (wrong == 2) a.d[4] = 0;
        if (wrong == 3) b.d[0] = 7;
        if (wrong == 4) a.i = 100;
        if (wrong == 5) b.i = 1, b.j = 0;
        if (wrong == 6) a.d[1] = -1;
        if (wrong == 7 && b.p == 0) b.d[8] = 0;
        if (wrong == 9 && b.p == size - 1) b.d[3]++;
        int *d = wrong == 8 ? b.d : a.d;
        double *A = wrong == 8 ? b.f64 : a.f64;
        if (wrong == 8) a.i = b.i, a.j = b.j;
        tulle_status status = tulle_pdgemr2d(m, n, A, a.i, a.j, d, b.f64, b.i, b.j, b.d, context);
        int good = status == TULLE_ERR_ARG && strstr(tulle_error_message(), says[wrong]);
        for (int e = 0; e < b.capacity; e++) good &= b.f64[e] == b.f64_peer[e];
        ok(same_everywhere(good), "refused: %s", tulle_error_message());
        drop(&a);
        drop(&b);
    }
    int d[9] = {1, -1, 5, 5, 2, 2, 0, 0, 5};
    double x[25] = {0};
    int good = tulle_pdgemr2d(5, 5, x, 1, 1, d, x, 1, 1, d, -1) == TULLE_ERR_ARG &&
               strstr(tulle_error_message(), "argument 11 (ICTXT)");
    ok(same_everywhere(good), "refused: %s", tulle_error_message());
}

/* A grid of which the context of the call does not have all processes. */
static void smaller_context(int size, int rank)
{
    int context, map[16], good = 1;
    if (size < 2) return;
    for (int e = 0; e < size - 1; e++) map[e] = e;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridmap(&context, map, 1, 1, size - 1);
    struct matrix a = make(size, 1, size, 0, 6, 6, 1), b = make(size, 1, size - 1, 0, 6, 6, 2);
    if (rank < size - 1) {
        good = tulle_pdgemr2d(6, 6, a.f64, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, context) == TULLE_ERR_ARG &&
               strstr(tulle_error_message(), "of its grid is not in that of argument 11");
        Cblacs_gridexit(context);
    }
    ok(same_everywhere(good), "refused: a process of a matrix is not in the context of the call");
    drop(&a);
    drop(&b);
}

int main(int argc, char **argv)
{
    int size, rank, context, good = 1, rounds = argc > 1 ? atoi(argv[1]) : 40;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int order = 0; order < 2; order++) {
        Cblacs_get(-1, 0, &context);
        Cblacs_gridinit(&context, order ? "C" : "R", order ? size : 1, order ? 1 : size);
        for (int round = 0; round < rounds && good; round++) good = copy(context, size, round);
        ok(good, "%d copies between grids of up to %d processes, as PDGEMR2D and PSGEMR2D make them", rounds, size);
        if (!order) refusals(context, size);
        Cblacs_gridexit(context);
    }
    smaller_context(size, rank);
    int failed = tap_done();
    MPI_Finalize();
    return failed;
}
