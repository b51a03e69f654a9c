/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products at the entries of a sparse matrix, for one instruction set. */
#include "device/kernels/sddmm/sddmm.h"

#include "device/kernels/lanes.h"

#define T float
#define LANES 16
#include "device/kernels/sddmm/sddmm_rows.h"
#define T double
#define LANES 8
#include "device/kernels/sddmm/sddmm_rows.h"

void TULLE__OF_ISA(tulle__sddmm_rows)(const tulle__sddmm_task *task, int64_t begin, int64_t end)
{
    task->type == TULLE_F32 ? rows_float(task, begin, end) : rows_double(task, begin, end);
}
