/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_pdgemm and tulle_psgemm as a program with ScaLAPACK calls them: every grid of the processes,
 * in both orders, with drawn descriptors and parts, against PDGEMM and PSGEMM and against plain
 * loops; wrong arguments; grids of some of the processes. pgemm ROUNDS: products on each grid.
 */
#include <math.h>
#include <string.h>

#include <tulle/scalapack.h>
#include <tulle/status.h>

#include "scalapack/blacs.h"
#include "tap.h"

void pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
    const double *A, const int *ia, const int *ja, const int *desca, const double *B, const int *ib, const int *jb,
    const int *descb, const double *beta, double *C, const int *ic, const int *jc, const int *descc);
void psgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
    const float *A, const int *ia, const int *ja, const int *desca, const float *B, const int *ib, const int *jb,
    const int *descb, const float *beta, float *C, const int *ic, const int *jc, const int *descc);

struct matrix {
    int d[9], rows, cols, capacity; /* descriptor; local rows and columns; elements of the arrays */
    int i, j;                       /* where the part begins, from 1 */
    double *whole;                  /* column-major, d[2] x d[3] */
    double *f64, *f64_peer;
    float *f32, *f32_peer;
};

static struct matrix make(int context, int m, int n, int salt)
{
    int P, Q, p, q, at;
    Cblacs_gridinfo(context, &P, &Q, &p, &q);
    struct matrix x = {.i = draw(1, 4), .j = draw(1, 4)};
    const int d[9] = {1, context, m + x.i - 1 + draw(0, 2), n + x.j - 1 + draw(0, 2), draw(1, 5), draw(1, 5),
        draw(0, P - 1), draw(0, Q - 1), 0};
    memcpy(x.d, d, sizeof d);
    x.rows = numroc_(&x.d[2], &x.d[4], &p, &x.d[6], &P);
    x.cols = numroc_(&x.d[3], &x.d[5], &q, &x.d[7], &Q);
    x.d[8] = x.rows + p % 2 + 1;
    x.capacity = x.d[8] * x.cols;
    x.whole = buffer_of((size_t)x.d[2] * (size_t)x.d[3], sizeof *x.whole);
    x.f64 = buffer_of((size_t)x.capacity, sizeof *x.f64);
    x.f64_peer = buffer_of((size_t)x.capacity, sizeof *x.f64);
    x.f32 = buffer_of((size_t)x.capacity, sizeof *x.f32);
    x.f32_peer = buffer_of((size_t)x.capacity, sizeof *x.f32);
    for (int j = 0; j < x.d[3]; j++)
        for (int i = 0; i < x.d[2]; i++) {
            double value = (i * 7 + j * 13 + i * j + salt) % 17 - 8;
            x.whole[j * x.d[2] + i] = value;
            if ((at = place_of(x.d, P, Q, p, q, i, j)) < 0) continue;
            x.f64[at] = x.f64_peer[at] = value;
            x.f32[at] = x.f32_peer[at] = (float)value;
        }
    return x;
}

static void drop(struct matrix *x)
{
    free(x->whole);
    free(x->f64);
    free(x->f64_peer);
    free(x->f32);
    free(x->f32_peer);
}

static double element(const struct matrix *x, int transposed, int i, int j)
{
    return transposed ? x->whole[(x->j - 1 + i) * x->d[2] + x->i - 1 + j]
                      : x->whole[(x->j - 1 + j) * x->d[2] + x->i - 1 + i];
}

/* sub(C) = alpha op(A) op(B) + beta sub(C), whole. */
static void plain(const struct matrix *a, int ta, const struct matrix *b, int tb, struct matrix *c, int m, int n, int k,
    double alpha, double beta)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0, *to = &c->whole[(c->j - 1 + j) * c->d[2] + c->i - 1 + i];
            for (int l = 0; l < k; l++) sum += element(a, ta, i, l) * element(b, tb, l, j);
            *to = alpha * sum + beta * *to;
        }
}

/* One product in both types by Tulle, by ScaLAPACK and by loops; integers, so all are equal. */
static int product(int context, int round)
{
    int P, Q, p, q, at, good = 1;
    static const char letters[] = "nNtTcC";
    int m = draw(1, 17), n = draw(1, 17), k = draw(1, 17), ta = draw(0, 5), tb = draw(0, 5);
    if (round % 8 == 5) m = 0;
    if (round % 8 == 6) n = 0;
    if (round % 8 == 7) k = 0;
    double alpha = draw(-2, 2), beta = draw(-1, 2);
    float alpha32 = (float)alpha, beta32 = (float)beta;
    Cblacs_gridinfo(context, &P, &Q, &p, &q);
    struct matrix a = ta < 2 ? make(context, m, k, 1) : make(context, k, m, 1);
    struct matrix b = tb < 2 ? make(context, k, n, 2) : make(context, n, k, 2);
    struct matrix c = make(context, m, n, 3);
    pdgemm_(&letters[ta], &letters[tb], &m, &n, &k, &alpha, a.f64, &a.i, &a.j, a.d, b.f64, &b.i, &b.j, b.d, &beta,
        c.f64_peer, &c.i, &c.j, c.d);
    psgemm_(&letters[ta], &letters[tb], &m, &n, &k, &alpha32, a.f32, &a.i, &a.j, a.d, b.f32, &b.i, &b.j, b.d, &beta32,
        c.f32_peer, &c.i, &c.j, c.d);
    if (round % 2) {
        good &= tulle_pdgemm(letters[ta], letters[tb], m, n, k, alpha, a.f64, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, beta,
                    c.f64, c.i, c.j, c.d) == TULLE_OK;
        good &= tulle_psgemm(letters[ta], letters[tb], m, n, k, alpha32, a.f32, a.i, a.j, a.d, b.f32, b.i, b.j, b.d,
                    beta32, c.f32, c.i, c.j, c.d) == TULLE_OK;
    } else {
        tulle_pdgemm_(&letters[ta], &letters[tb], &m, &n, &k, &alpha, a.f64, &a.i, &a.j, a.d, b.f64, &b.i, &b.j, b.d,
            &beta, c.f64, &c.i, &c.j, c.d);
        tulle_psgemm_(&letters[ta], &letters[tb], &m, &n, &k, &alpha32, a.f32, &a.i, &a.j, a.d, b.f32, &b.i, &b.j, b.d,
            &beta32, c.f32, &c.i, &c.j, c.d);
    }
    plain(&a, ta >= 2, &b, tb >= 2, &c, m, n, k, alpha, beta);
    for (int e = 0; e < c.capacity; e++) good &= c.f64[e] == c.f64_peer[e] && c.f32[e] == c.f32_peer[e];
    for (int j = 0; j < c.d[3]; j++)
        for (int i = 0; i < c.d[2]; i++)
            if ((at = place_of(c.d, P, Q, p, q, i, j)) >= 0) good &= c.f64[at] == c.whole[j * c.d[2] + i];
    if (!good && !tap_failed)
        printf("# %c%c %d x %d x %d, alpha %g, beta %g, on %d x %d: differs at (%d, %d); %s\n", letters[ta],
            letters[tb], m, n, k, alpha, beta, P, Q, p, q, tulle_error_message());
    drop(&a);
    drop(&b);
    drop(&c);
    return same_everywhere(good);
}

/* NaN in C is not read with beta = 0; NaN in A arrives. */
static int nans(int context)
{
    int P, Q, p, q, at, good = 1, n = 9;
    Cblacs_gridinfo(context, &P, &Q, &p, &q);
    struct matrix a = make(context, n, n, 1), b = make(context, n, n, 2), c = make(context, n, n, 3);
    for (int e = 0; e < c.capacity; e++) c.f64[e] = NAN;
    if ((at = place_of(a.d, P, Q, p, q, a.i - 1 + 4, a.j - 1 + 2)) >= 0) a.f64[at] = NAN;
    good &= tulle_pdgemm('N', 'N', n, n, n, 1, a.f64, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, 0, c.f64, c.i, c.j, c.d) ==
            TULLE_OK;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if ((at = place_of(c.d, P, Q, p, q, c.i - 1 + i, c.j - 1 + j)) >= 0) good &= !isnan(c.f64[at]) == (i != 4);
    drop(&a);
    drop(&b);
    drop(&c);
    return same_everywhere(good);
}

/* Each wrong argument is refused in all processes, with its name, and C stays. */
static void refusals(int context)
{
    int n = 8;
    static const char *const says[] = {"argument 1 (TRANSA)", "argument 2 (TRANSB)", "argument 3 (M)", "argument 4 (N)",
        "argument 5 (K)", "argument 10 (DESCA): entry 1 (DTYPE_)", "argument 14 (DESCB): entry 2 (CTXT_)",
        "argument 19 (DESCC): entry 3 (M_)", "argument 10 (DESCA): entry 4 (N_)", "argument 14 (DESCB): entry 5 (MB_)",
        "argument 19 (DESCC): entry 6 (NB_)", "argument 10 (DESCA): entry 7 (RSRC_)",
        "argument 14 (DESCB): entry 8 (CSRC_)", "argument 19 (DESCC): entry 9 (LLD_)",
        "argument 10 (DESCA): the part of 8 x 8 at (0", "argument 14 (DESCB): the part of 8 x 8 at (100", "LLD_",
        "in common"};
    for (int wrong = 0; wrong < (int)(sizeof says / sizeof *says); wrong++) {
        struct matrix a = make(context, n, n, 1), b = make(context, n, n, 2), c = make(context, n, n, 3);
        int m[3] = {n, n, n}, entry = wrong - 5;
        char trans[2] = {'N', 'N'};
        double *A = a.f64;
        if (wrong < 2) trans[wrong] = 'x';
        if (wrong >= 2 && wrong < 5) m[wrong - 2] = -1;
        int *d[] = {a.d, b.d, c.d};
        if (entry >= 0 && entry < 9)
            d[entry % 3][entry] = entry == 0   ? 3
                                  : entry == 1 ? context + 1
                                  : entry < 4  ? -7
                                  : entry < 6  ? 0
                                  : entry < 8  ? 99
                                               : 0;
        if (wrong == 14) a.i = 0;
        if (wrong == 15) b.j = 0, b.i = 100;
        if (wrong == 16) c.d[8] = 1, c.d[2] = 100, c.d[4] = 7;
        if (wrong == 17) A = c.f64, memcpy(a.d, c.d, sizeof a.d), a.i = c.i, a.j = c.j;
        tulle_status status = tulle_pdgemm(
            trans[0], trans[1], m[0], m[1], m[2], 1, A, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, 0, c.f64, c.i, c.j, c.d);
        int good = status == TULLE_ERR_ARG && strstr(tulle_error_message(), says[wrong]);
        for (int e = 0; e < c.capacity; e++) good &= c.f64[e] == c.f64_peer[e];
        ok(same_everywhere(good), "refused: %s", tulle_error_message());
        drop(&a);
        drop(&b);
        drop(&c);
    }
}

/* A grid of the last processes only: those in it multiply, the others are told. */
static void some_of_them(int size, int rank)
{
    int context, map[8], number = size - 1, good = 1, n = 5;
    if (number < 1 || number > 8) return;
    for (int i = 0; i < number; i++) map[i] = size - 1 - i;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridmap(&context, map, 1, 1, number);
    if (rank > 0) {
        struct matrix a = make(context, n, n, 1), b = make(context, n, n, 2), c = make(context, n, n, 3);
        int P, Q, p, q, at;
        Cblacs_gridinfo(context, &P, &Q, &p, &q);
        good &= tulle_pdgemm('N', 'T', n, n, n, 1, a.f64, a.i, a.j, a.d, b.f64, b.i, b.j, b.d, 1, c.f64, c.i, c.j,
                    c.d) == TULLE_OK;
        plain(&a, 0, &b, 1, &c, n, n, n, 1, 1);
        for (int j = 0; j < c.d[3]; j++)
            for (int i = 0; i < c.d[2]; i++)
                if ((at = place_of(c.d, P, Q, p, q, i, j)) >= 0) good &= c.f64[at] == c.whole[j * c.d[2] + i];
        drop(&a);
        drop(&b);
        drop(&c);
        Cblacs_gridexit(context);
    } else {
        const int d[9] = {1, context, n, n, 2, 2, 0, 0, n};
        double x[25] = {0};
        good &= tulle_pdgemm('N', 'N', n, n, n, 1, x, 1, 1, d, x, 1, 1, d, 0, x, 1, 1, d) == TULLE_ERR_ARG &&
                strstr(tulle_error_message(), "entry 2 (CTXT_)") != NULL;
    }
    ok(same_everywhere(good), "a grid without the first process");
}

int main(int argc, char **argv)
{
    int size, rank, context, rounds = argc > 1 ? atoi(argv[1]) : 40;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int P = 1; P <= size; P++)
        for (int order = 0; order < 2 && size % P == 0; order++) {
            int good = 1;
            Cblacs_get(-1, 0, &context);
            Cblacs_gridinit(&context, order ? "C" : "R", P, size / P);
            for (int round = 0; round < rounds && good; round++) good = product(context, round);
            ok(good, "%d products on %d x %d, order %s, as PDGEMM, PSGEMM and loops make them", rounds, P, size / P,
                order ? "C" : "R");
            ok(nans(context), "NaN in C is not read, NaN in A arrives");
            if (P == 1 && !order) refusals(context);
            Cblacs_gridexit(context);
        }
    some_of_them(size, rank);
    state = 1; /* not all have drawn as often */
    tulle_scalapack_free();
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "R", 1, size);
    ok(product(context, 1), "after all teams were freed");
    int failed = tap_done();
    MPI_Finalize();
    return failed;
}
