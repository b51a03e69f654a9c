/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's row kernels in plain C. */
#include <string.h>

#include "base/error.h"
#include "device/kernels/spgemm/spgemm.h"

#define ROWS
#define LIST_WORDS tulle__list_words

#define T float
#define NAME(x) x##_f32
#include "device/kernels/spgemm/spgemm_plain.h"
#include "device/kernels/spgemm/spgemm_rows.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64
#include "device/kernels/spgemm/spgemm_plain.h"
#include "device/kernels/spgemm/spgemm_rows.h"

const tulle__spgemm_rows tulle__spgemm_portable[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = {count_f32, write_f32, values_f32},
    [TULLE_F64] = {count_f64, write_f64, values_f64},
};
