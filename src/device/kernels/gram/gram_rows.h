/* SPDX-License-Identifier: Apache-2.0 */
/* Template of the pass over rows: columns in whole vectors, four at a time, then in halves of these down to one lane.
 */
#define LANES 1
#include "device/kernels/gram/gram_columns.h"
#define LANES 2
#include "device/kernels/gram/gram_columns.h"
#define LANES 4
#include "device/kernels/gram/gram_columns.h"
#if MOST(T) > 4
#define LANES 8
#include "device/kernels/gram/gram_columns.h"
#endif
#if MOST(T) > 8
#define LANES 16
#include "device/kernels/gram/gram_columns.h"
#endif

#define COLUMNS(lanes) TULLE__SUFFIX_OF(INSTANCE(gram_columns, T, F), lanes)
#define STEP(lanes)                                                                                                    \
    for (; c + lanes <= n; c += lanes) COLUMNS(lanes)(task, r, c, 1)
static void INSTANCE(gram, T, F)(const tulle__gram_task *task)
{
    const int64_t n = task->n;
    for (int64_t r = 0; r < task->rows; r++) {
        int64_t c = 0;
        for (; c + 4 * MOST(T) <= n; c += 4 * MOST(T)) COLUMNS(MOST(T))(task, r, c, 4);
#if MOST(T) > 8
        STEP(16);
#endif
#if MOST(T) > 4
        STEP(8);
#endif
        STEP(4);
        STEP(2);
        STEP(1);
    }
}

#undef COLUMNS
#undef STEP
#undef T
#undef F
