/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes TEMPLATE for both types and each number of lanes up to a register's, with the macros T and LANES, which it
 * undefines. BY_WIDTH(name): its functions name_T_LANES, those for 2^l columns and more at [type][l].
 */
#define T float
#define LANES 1
#include TEMPLATE
#define T float
#define LANES 4
#include TEMPLATE
#define T double
#define LANES 1
#include TEMPLATE
#define T double
#define LANES 2
#include TEMPLATE
#if TULLE__REGISTER >= 32
#define T float
#define LANES 8
#include TEMPLATE
#define T double
#define LANES 4
#include TEMPLATE
#endif
#if TULLE__REGISTER >= 64
#define T float
#define LANES 16
#include TEMPLATE
#define T double
#define LANES 8
#include TEMPLATE
#endif
#undef TEMPLATE

#if TULLE__REGISTER >= 64
#define BY_WIDTH(name)                                                                                                 \
    {[TULLE_F32] = {name##_float_1, name##_float_1, name##_float_4, name##_float_8, name##_float_16},                  \
        [TULLE_F64] = {name##_double_1, name##_double_2, name##_double_4, name##_double_8}}
#elif TULLE__REGISTER >= 32
#define BY_WIDTH(name)                                                                                                 \
    {[TULLE_F32] = {name##_float_1, name##_float_1, name##_float_4, name##_float_8},                                   \
        [TULLE_F64] = {name##_double_1, name##_double_2, name##_double_4}}
#else
#define BY_WIDTH(name)                                                                                                 \
    {[TULLE_F32] = {name##_float_1, name##_float_1, name##_float_4}, [TULLE_F64] = {name##_double_1, name##_double_2}}
#endif
