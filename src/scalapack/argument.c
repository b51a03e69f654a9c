/* SPDX-License-Identifier: Apache-2.0 */
#include "scalapack/argument.h"

#include <stdarg.h>
#include <stdio.h>

#include <tulle/words.h>

#include "scalapack/grid_team.h"

tulle_status tulle__wrong_argument(tulle__call *call, int number, const char *argument, const char *format, ...)
{
    char cause[sizeof call->message / 2];
    va_list list;
    va_start(list, format);
    vsnprintf(cause, sizeof cause, format, list);
    va_end(list);
    snprintf(call->message, sizeof call->message, "%s: argument %d (%s): %s", call->name, number, argument, cause);
    return TULLE_ERR_ARG;
}

tulle_status tulle__size_argument(tulle__call *call, int number, const char *argument, int size)
{
    return size < 0 ? tulle__wrong_argument(call, number, argument, "a size cannot be %d", size) : TULLE_OK;
}

tulle_status tulle__read_argument(tulle__call *call, tulle__argument *x, int grid_rows, int grid_cols, int m, int n)
{
    const int *d = x->descriptor;
    int64_t ld;
    if (tulle_cyclic_from_descriptor(d, grid_rows, grid_cols, &x->cyclic, &ld) != TULLE_OK)
        return tulle__wrong_argument(call, x->number, x->name, "%s", tulle_error_message());
    x->part = (tulle_cyclic_part){.cyclic = &x->cyclic, .row = x->row - 1, .col = x->col - 1, .m = m, .n = n, .ld = ld};
    /* ScaLAPACK takes any place for a part of no elements */
    if (!m || !n) x->part.row = x->part.col = 0;
    if (x->part.row < 0 || x->part.col < 0 || x->part.row + m > x->cyclic.m || x->part.col + n > x->cyclic.n)
        return tulle__wrong_argument(call, x->number, x->name,
            "the part of %d x %d at (%d, %d) is outside of %d x %d, entries 3 (M_) and 4 (N_) of the descriptor", m, n,
            x->row, x->col, d[2], d[3]);
    return TULLE_OK;
}

tulle_status tulle__agree_call(tulle_comm *comm, tulle_status status, const tulle__call *call)
{
    if (status == TULLE_ERR_MEMORY)
        (void)tulle_fail(status, "%s: no memory for the grids of its arguments", call->name);
    else if (status != TULLE_OK)
        (void)tulle_fail(status, "%s", call->message);
    return tulle_comm_agree(comm, status);
}

void tulle__end_job_if(tulle_status status, int context)
{
    if (status == TULLE_OK) return;
    fprintf(stderr, "%s\n", tulle_error_message());
    fflush(stderr);
    Cblacs_abort(context, 1);
}
