/* SPDX-License-Identifier: Apache-2.0 */
/* Products of tall and skinny matrices, for one instruction set. */
#include "device/kernels/vectors/tall.h"

#include <string.h>

#include "device/kernels/lanes.h"

#define T float
#define LANES MOST(float)
#include "device/kernels/vectors/tall_rows.h"
#define T double
#define LANES MOST(double)
#include "device/kernels/vectors/tall_rows.h"

void TULLE__OF_ISA(tulle__tsmttsm)(const tulle__tsmttsm_task *task)
{
    task->type == TULLE_F32 ? tsmttsm_float(task) : tsmttsm_double(task);
}

void TULLE__OF_ISA(tulle__tsmm)(const tulle__tsmm_task *task)
{
    task->type == TULLE_F32 ? tsmm_float(task) : tsmm_double(task);
}
