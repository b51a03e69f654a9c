/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/row_ranges.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__layout_of_ranges(tulle_comm *comm, const char *lines, tulle_gidx m, tulle_gidx n, tulle_gidx first,
    tulle_gidx count, tulle_layout **layout)
{
    tulle_status status;
    tulle_gidx mine[2] = {first, count}, *all = NULL, *cut = NULL;
    TULLE_TRY(tulle__alloc(2 * (size_t)comm->size, sizeof *all, "ranges of lines", &all));
    TULLE_TRY(tulle__alloc((size_t)comm->size + 1, sizeof *cut, "ranges of lines", &cut));
    TULLE_TRY(tulle_comm_allgather(comm, mine, sizeof mine, all));
    cut[0] = 0;
    for (int r = 0; r < comm->size; r++) {
        if (all[2 * r] != cut[r] && all[2 * r + 1] > 0)
            TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "the %s of PE %d begin at %" PRId64 " instead of %" PRId64, lines, r,
                all[2 * r], cut[r]));
        cut[r + 1] = cut[r] + all[2 * r + 1];
    }
    if (cut[comm->size] != m)
        TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "the PEs pass %" PRId64 " %s in total, but the matrix has %" PRId64,
            cut[comm->size], lines, m));
    tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = comm->size, .grid_cols = 1, .row_cut = cut};
    TULLE_TRY(tulle_layout_new(&spec, comm->size, layout));
out:
    tulle__free(all);
    tulle__free(cut);
    return status;
}
