/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's row kernels, for one instruction set. */
#include "device/kernels/spgemm/spgemm.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/prefetch.h"
#include "device/kernels/indices.h"
#include "kernel/row_selection.h"

#define T float
#include "device/kernels/spgemm/spgemm_rows.h"
#define T double
#include "device/kernels/spgemm/spgemm_rows.h"

const tulle__spgemm_rows TULLE__OF_ISA(tulle__spgemm)[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = {count_float, write_float, values_float}, [TULLE_F64] = {count_double, write_double, values_double}};
