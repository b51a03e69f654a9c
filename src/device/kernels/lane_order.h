/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of two vectors in another order, those of the second counted on: order_t is a vector of integers as wide. */
#ifndef TULLE_DEVICE_KERNELS_LANE_ORDER_H
#define TULLE_DEVICE_KERNELS_LANE_ORDER_H

#ifdef __clang__
#define TULLE__SHUFFLE(order_t, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define TULLE__SHUFFLE(order_t, x, y, ...) __builtin_shuffle(x, y, (order_t){__VA_ARGS__})
#endif

#endif
