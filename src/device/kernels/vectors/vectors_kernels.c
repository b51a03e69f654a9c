/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors, and tall and skinny matrices, for one instruction set. */
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

#define T float
#define LANES 4
#include "device/kernels/vectors/tall_column.h"
#define T double
#define LANES 4
#include "device/kernels/vectors/tall_column.h"

#define T float
#define LANES MOST(float)
#include "device/kernels/vectors/tall_rows.h"
#define T double
#define LANES MOST(double)
#include "device/kernels/vectors/tall_rows.h"

/* A call of an instruction set, by the task's type. */
#define CALL(name)                                                                                                     \
    void TULLE__OF_ISA(tulle__##name)(const tulle__##name##_task *task)                                                \
    {                                                                                                                  \
        task->type == TULLE_F32 ? name##_float(task) : name##_double(task);                                            \
    }
CALL(dots)
CALL(combine)
CALL(tsmttsm)
CALL(tsmm)
