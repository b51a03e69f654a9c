/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels besides products in every table of kernels that holds values: see tulle__kernels. */
#ifndef TULLE_DEVICE_VALUES_H
#define TULLE_DEVICE_VALUES_H

#include "kernel/kernel.h"

tulle_status tulle__values_scale(
    tulle__pool *pool, tulle_type type, int64_t lines, int64_t width, int64_t ld, double beta, void *val);
void tulle__values_add(tulle_type type, int64_t m, int64_t n, const void *panel, void *C, int64_t c_row, int64_t c_col);
tulle_status tulle__values_gather(
    tulle__pool *pool, tulle_type type, int64_t n, const void *order, size_t order_bytes, const void *from, void *to);
void tulle__values_copy(void *to, const void *from, size_t bytes);

#endif
