/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenpairs of a matrix in a caller's arrays. */
#ifndef TULLE_TEST_SPECTRUM_PAIRS_OF_ARRAY_H
#define TULLE_TEST_SPECTRUM_PAIRS_OF_ARRAY_H

#include <tulle/array.h>
#include <tulle/spectrum.h>

/* Values, and residuals unless NULL, of options->count pairs of a symmetric matrix. Collective. */
static inline tulle_status pairs_of_array(tulle_comm *comm, const tulle_array *a,
    const tulle_spectrum_options *options, double *value, double *residual, tulle_spectrum_report *report)
{
    tulle_mat *A = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_spectrum *plan = NULL;
    tulle_status status = tulle_mat_from_array(comm, a, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_spectrum_new(&op, options, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, value, residual, NULL, report);
    tulle_spectrum_free(plan);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    return status;
}

#endif
