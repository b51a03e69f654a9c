/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of Ritz values on either side of mu: of a vector with rounding in far levels, below 1e-10 wherever mu lies
 * in the middle of the gap and however many steps are asked for; of a vector with a part of the first level beyond,
 * that part. ritz SPEC PES
 */
#include "algo/matfun/dense/lanczos.h"

#include <math.h>

#include "blocks.h"
#include "run_tests.h"

enum { LOW = 100, ROWS = 300, MUS = 3, FEWEST = 40, MOST = 60, STRIDE = 20 };
static const double top = .434, bottom = .524, far = 81;

/* Levels evenly in [-0.44, top], and from `bottom` ever less densely to `far`. */
static double level(int i)
{
    if (i < LOW) return -.44 + (top + .44) * i / (LOW - 1);
    return bottom * pow(far / bottom, (double)(i - LOW) / (ROWS - LOW - 1));
}

static tulle_status diagonal(tulle_comm *comm, tulle_mat **A)
{
    tulle_gidx cut[ROWS + 1], row[ROWS];
    double val[ROWS];
    int64_t count = 0;
    for (int i = 0; i <= ROWS; i++) cut[i] = i;
    for (int i = tulle_comm_rank(comm); i < ROWS; i += tulle_comm_size(comm)) {
        row[count] = i;
        val[count++] = level(i);
    }
    return blocks_of_entries(comm, ROWS, ROWS, cut, count, row, row, val, A);
}

/* The largest and least weight from mu on, over the gap and numbers of steps, of a vector with parts beyond it. */
static tulle_status weights(const tulle_mat *A, double first, double rounding, double *most, double *least)
{
    double x[ROWS];
    tulle__ritz ritz;
    tulle_status status = TULLE_OK;
    for (int i = 0; i < ROWS; i++) x[i] = (i % 3 ? 1 : -1) * (i < LOW ? .1 : i == LOW && first > 0 ? first : rounding);
    *most = 0;
    *least = INFINITY;
    for (int m = 0; m < MUS; m++)
        for (int steps = FEWEST; steps <= MOST && status == TULLE_OK; steps += STRIDE) {
            const double mu = top + (bottom - top) * (m + 2) / (MUS + 3);
            status = tulle__lanczos_ritz(A, mu, steps, 1e-16, x, &ritz);
            *most = fmax(*most, ritz.above);
            *least = fmin(*least, ritz.above);
        }
    return status;
}

static tulle_status test_rounding(tulle_comm *comm, void *arg)
{
    double most, least;
    tulle_mat *A = NULL;
    tulle_status status;
    (void)arg;
    TULLE_TRY(diagonal(comm, &A));
    TULLE_TRY(weights(A, 0, 1e-14, &most, &least));
    EXPECT(most < 1e-10);
out:
    tulle_mat_free(A);
    return status;
}

static tulle_status test_next_level(tulle_comm *comm, void *arg)
{
    double most, least;
    tulle_mat *A = NULL;
    tulle_status status;
    (void)arg;
    TULLE_TRY(diagonal(comm, &A));
    TULLE_TRY(weights(A, 1e-3, 1e-14, &most, &least));
    EXPECT(least > .9e-6 && most < 1.2e-6);
out:
    tulle_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    double worst = 0;
    static const struct named_test tests[] = {
        {"rounding in far levels weighs nothing", test_rounding}, {"a part of the next level weighs", test_next_level}};
    return run_tests(argc, argv, (int)(sizeof tests / sizeof *tests), tests, &worst, &worst);
}
