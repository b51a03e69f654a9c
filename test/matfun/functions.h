/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of tests of functions: functions of a number, and a function that is computed and checked. */
#ifndef TULLE_TEST_MATFUN_FUNCTIONS_H
#define TULLE_TEST_MATFUN_FUNCTIONS_H

#include <math.h>

#include <tulle/matfun.h>

#include "base/error.h"
#include "body.h"

static inline double f_sign(double x)
{
    return x < .1 ? -1 : 1;
}

static inline double f_inverse(double x)
{
    return 1 / x;
}

static inline double f_invsqrt(double x)
{
    return 1 / sqrt(x);
}

/* *F = f(A), and its check of `samples` submatrices, which it passes within `tolerance`. */
static tulle_status evaluate(tulle_mat *A, const tulle_function *f, const tulle_matfun_options *options, int samples,
    double tolerance, tulle_mat **F, tulle_matfun_report *report)
{
    tulle_status status;
    double error;
    tulle_matfun *plan = NULL;
    TULLE_TRY(tulle_matfun_new(A, options, &plan));
    TULLE_TRY(tulle_matfun_execute(plan, f, F, report));
    TULLE_TRY(tulle_matfun_check(plan, f, *F, samples, &error));
    EXPECT(error <= tolerance);
out:
    tulle_matfun_free(plan);
    return status;
}

#endif
