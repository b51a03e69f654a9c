/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, types and warnings of a matrix that is read by rows. */
#include <stdatomic.h>

#include "base/arg.h"
#include "base/error.h"
#include "io/file/gate.h"
#include "mat/rows.h"

tulle_gidx tulle_rows_count(const tulle_rows *rows)
{
    if (TULLE__NULL(rows)) return 0;
    return rows->m;
}

tulle_gidx tulle_rows_cols(const tulle_rows *rows)
{
    if (TULLE__NULL(rows)) return 0;
    return rows->n;
}

int64_t tulle_rows_nnz(const tulle_rows *rows)
{
    if (TULLE__NULL(rows)) return 0;
    return rows->nnz;
}

tulle_type tulle_rows_type(const tulle_rows *rows)
{
    if (TULLE__NULL(rows)) return TULLE_F64;
    return rows->type;
}

tulle_status tulle_rows_set_type(tulle_rows *rows, tulle_type type)
{
    if (TULLE__NULL(rows) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1)) return TULLE_ERR_ARG;
    if (type == TULLE_F32 && rows->values == TULLE_F64)
        return tulle__fail(TULLE_ERR_ARG, "%s: has f64 values, which do not suit vectors of f32", rows->name);
    if (type != TULLE_F32 && type != TULLE_F64) return tulle__fail(TULLE_ERR_ARG, "%d is no type", (int)type);
    rows->type = type;
    return TULLE_OK;
}

tulle_status tulle_rows_set_finite(tulle_rows *rows, bool finite)
{
    if (TULLE__NULL(rows)) return TULLE_ERR_ARG;
    rows->finite = finite;
    return TULLE_OK;
}

tulle_status tulle_rows_warnings(tulle_rows *rows, char *warnings)
{
    if (TULLE__NULL(rows) || TULLE__NULL(warnings)) return tulle__refuse(rows ? rows->comm : NULL);
    tulle__gate gate = {.counts = {.nans = atomic_load(&rows->nans), .infs = atomic_load(&rows->infs)}};
    *warnings = '\0';
    TULLE_CALL(tulle__gate_sum(rows->comm, &gate));
    tulle__gate_warnings(rows->name, &gate.counts, warnings, TULLE_WARNINGS_MAX);
    return TULLE_OK;
}

const char *tulle_rows_mode(const tulle_rows *rows)
{
    if (TULLE__NULL(rows)) return "";
    return rows->mode;
}
