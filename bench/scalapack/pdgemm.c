/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense products and redistribution by ScaLAPACK and by Tulle, on the same block-cyclic arrays in one job:
 * bench_pdgemm M N K BLOCK REPS. Both take turns; each figure is the median of the slowest process's seconds, after a
 * warm-up, in one line of JSON. `copy` is memcpy of all local elements of the matrix that is redistributed. The results
 * of both must be equal to rounding; 1 is returned if they are not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/cyclic.h>
#include <tulle/mpi.h>
#include <tulle/scalapack.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cpdgemr2d(int m, int n, const double *A, int ia, int ja, const int *desca, double *B, int ib, int jb,
    const int *descb, int context);
int numroc_(const int *n, const int *block, const int *me, const int *source, const int *parts);
void pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
    const double *A, const int *ia, const int *ja, const int *desca, const double *B, const int *ib, const int *jb,
    const int *descb, const double *beta, double *C, const int *ic, const int *jc, const int *descc);

enum { REPS_MOST = 99 };

struct matrix {
    int d[9], cols;
    double *val;
    size_t count;
};

static int context, P, Q, p, q, size, rank;

static struct matrix make(int m, int n, int block, int salt)
{
    int zero = 0;
    struct matrix x = {.d = {1, context, m, n, block, block, 0, 0, 1}};
    int rows = numroc_(&m, &block, &p, &zero, &P);
    x.cols = numroc_(&n, &block, &q, &zero, &Q);
    x.d[8] = rows > 1 ? rows : 1;
    x.count = (size_t)x.d[8] * (size_t)x.cols;
    x.val = malloc((x.count + 1) * sizeof *x.val);
    if (!x.val) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t e = 0; e < x.count; e++) x.val[e] = (double)((e * 7 + (size_t)salt) % 17) / 8 - 1;
    return x;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* The slowest process's seconds since `start`. */
static double elapsed(double start)
{
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

static double begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* The largest difference of any two elements, of all processes. */
static double difference(const struct matrix *x, const struct matrix *y)
{
    double most = 0;
    for (size_t e = 0; e < x->count; e++) most = fmax(most, fabs(x->val[e] - y->val[e]));
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* ---- redistribution ---- */

struct move {
    const struct matrix *from, *to;
};

static tulle_cyclic_part part_of(const struct matrix *x, tulle_cyclic *cyclic)
{
    int64_t ld = 1;
    if (tulle_cyclic_from_descriptor(x->d, P, Q, cyclic, &ld) != TULLE_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    return (tulle_cyclic_part){.cyclic = cyclic, .m = cyclic->m, .n = cyclic->n, .ld = ld};
}

static tulle_status redistribute(tulle_comm *comm, void *arg)
{
    const struct move *x = arg;
    tulle_cyclic from, to;
    tulle_cyclic_part a = part_of(x->from, &from), b = part_of(x->to, &to);
    return tulle_cyclic_redistribute(comm, TULLE_F64, &a, x->from->val, &b, x->to->val);
}

static double local_copy(const struct matrix *x, double *to)
{
    double start = begin();
    memcpy(to, x->val, x->count * sizeof *to);
    return elapsed(start);
}

int main(int argc, char **argv)
{
    double theirs[REPS_MOST], ours[REPS_MOST], moved[REPS_MOST], moved_ours[REPS_MOST], copied[REPS_MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 6) return fprintf(stderr, "usage: %s M N K BLOCK REPS\n", argv[0]), 2;
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), block = atoi(argv[4]), one = 1;
    const int reps = atoi(argv[5]) < 1 ? 1 : atoi(argv[5]) > REPS_MOST ? REPS_MOST : atoi(argv[5]);
    const double alpha = 1, beta = 0;
    int rows = 1;
    for (int r = 1; r * r <= size; r++)
        if (size % r == 0) rows = r;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "R", rows, size / rows);
    Cblacs_gridinfo(context, &P, &Q, &p, &q);
    struct matrix a = make(m, k, block, 1), b = make(k, n, block, 2), c = make(m, n, block, 3),
                  d = make(m, n, block, 3);
    const int other = block / 2 + block / 4 + 1; /* blocks that do not match */
    struct matrix e = make(m, n, other, 4), f = make(m, n, other, 5);
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new_mpi("mpi", MPI_COMM_WORLD, NULL, &team);
    const struct move move = {&c, &f};
    for (int rep = -1; rep < reps && status == TULLE_OK; rep++) {
        int at = rep < 0 ? 0 : rep;
        double start = begin();
        pdgemm_("N", "N", &m, &n, &k, &alpha, a.val, &one, &one, a.d, b.val, &one, &one, b.d, &beta, c.val, &one, &one,
            c.d);
        theirs[at] = elapsed(start);
        start = begin();
        status = tulle_pdgemm('N', 'N', m, n, k, 1, a.val, 1, 1, a.d, b.val, 1, 1, b.d, 0, d.val, 1, 1, d.d);
        ours[at] = elapsed(start);
        start = begin();
        Cpdgemr2d(m, n, c.val, 1, 1, c.d, e.val, 1, 1, e.d, context);
        moved[at] = elapsed(start);
        start = begin();
        if (status == TULLE_OK) status = tulle_team_run(team, redistribute, (void *)&move);
        moved_ours[at] = elapsed(start);
        copied[at] = local_copy(&c, d.count ? d.val : c.val);
    }
    if (status != TULLE_OK) fprintf(stderr, "%s\n", tulle_error_message());
    if (status != TULLE_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    tulle_pdgemm('N', 'N', m, n, k, 1, a.val, 1, 1, a.d, b.val, 1, 1, b.d, 0, d.val, 1, 1, d.d);
    double wrong = difference(&c, &d), lost = difference(&e, &f);
    int right = wrong <= 1e-14 * 4 * k && lost == 0;
    if (rank == 0)
        printf("{\"m\":%d,\"n\":%d,\"k\":%d,\"block\":%d,\"grid\":[%d,%d],\"pdgemm\":%.6g,\"tulle_pdgemm\":%.6g,"
               "\"pdgemr2d\":%.6g,\"redistribute\":%.6g,\"copy\":%.6g,\"right\":%s}\n",
            m, n, k, block, P, Q, median(theirs, reps), median(ours, reps), median(moved, reps),
            median(moved_ours, reps), median(copied, reps), right ? "true" : "false");
    tulle_team_free(team);
    tulle_scalapack_free();
    MPI_Finalize();
    return !right;
}
