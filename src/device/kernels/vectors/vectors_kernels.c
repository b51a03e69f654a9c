/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and linear combinations of vectors, for one instruction set. */
#include "device/kernels/vectors/vectors.h"

#include <string.h>

#include "base/prefetch.h"
#include "device/kernels/lanes.h"

#define T float
#define LANES MOST(float)
#include "device/kernels/vectors/vectors_rows.h"
#define T double
#define LANES MOST(double)
#include "device/kernels/vectors/vectors_rows.h"

void TULLE__OF_ISA(tulle__dots)(const tulle__dots_task *task)
{
    task->type == TULLE_F32 ? dots_float(task) : dots_double(task);
}

void TULLE__OF_ISA(tulle__combine)(const tulle__combine_task *task)
{
    task->type == TULLE_F32 ? combine_float(task) : combine_double(task);
}
