/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sparse matrix and their transpose in one pass, for one instruction set. */
#include "device/kernels/gram/gram_kernel.h"

#include "device/kernels/lanes.h"

#define T float
#define F float
#include "device/kernels/gram/gram_rows.h"
#define T double
#define F float
#include "device/kernels/gram/gram_rows.h"
#define T double
#define F double
#include "device/kernels/gram/gram_rows.h"

void TULLE__OF_ISA(tulle__gram)(const tulle__gram_task *task)
{
    if (task->type == TULLE_F32)
        gram_float_float(task);
    else
        task->values == TULLE_F32 ? gram_double_float(task) : gram_double_double(task);
}
