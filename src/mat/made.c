/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of functions that make matrices. */
#include "mat/mat.h"

tulle_status tulle__mat_or_drop(tulle_status status, tulle_mat *made, tulle_mat **out)
{
    if (status == TULLE_OK)
        *out = made;
    else
        tulle__mat_drop(made);
    return status;
}

tulle_status tulle__mat_or_free(tulle_status status, tulle_mat *made, tulle_mat **out)
{
    if (status == TULLE_OK)
        *out = made;
    else
        tulle_mat_free(made);
    return status;
}

tulle_status tulle__mat_finish(tulle_comm *comm, tulle_status status, tulle_mat *made, tulle_mat **out)
{
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK && made->kind != TULLE_DENSE) status = tulle_mat_renew(made);
    return tulle__mat_or_free(status, made, out);
}

void tulle__mat_free_scoped(tulle_mat **A)
{
    tulle_mat_free(*A);
    *A = NULL;
}

void tulle__mat_drop_scoped(tulle_mat **A)
{
    tulle__mat_drop(*A);
}
