/* SPDX-License-Identifier: Apache-2.0 */
/* The range in which squares of a matrix's values, and of residuals far below them, are numbers. */
#include <math.h>

#include "algo/spectrum/basis.h"
#include "base/error.h"

tulle_status tulle__basis_check_range(const tulle__basis *basis, const tulle__block_of_columns *W)
{
    const tulle__space *space = &basis->multi.space;
    double largest = 0;
    for (int64_t r = 0; r < space->rows && space->type == TULLE_F64; r++)
        for (int c = 0; c < W->columns; c++) largest = fmax(largest, fabs(((const double *)W->val)[r * W->ld + c]));
    const tulle_status status =
        tulle_comm_agree(space->comm, tulle_comm_reduce_real(space->comm, TULLE_MAX, 1, &largest));
    if (status != TULLE_OK || isinf(largest)) return status;
    return tulle__check_squares("the matrix times a vector", largest);
}

tulle_status tulle__check_squares(const char *what, double size)
{
    static const double least = 0x1p-460, most = 0x1p+500;
    if (size == 0 || (size > least && size < most)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "%s is about %.2g, and with squares of residuals beside its own in f64 it has to be from %.1g to %.1g: scale "
        "it",
        what, size, least, most);
}
