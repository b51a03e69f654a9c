/* SPDX-License-Identifier: Apache-2.0 */
/* Includes TEMPLATE for float and for double: T is the type, NAME(x) is x_f32 or x_f64. */
#define T float
#define NAME(x) x##_f32
#include TEMPLATE
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include TEMPLATE
#undef T
#undef NAME
#undef TEMPLATE
