/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/processor.h"

tulle__isa tulle__processor_isa(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return TULLE__ISA_PORTABLE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return TULLE__ISA_AVX512;
    return TULLE__ISA_AVX2;
#else
    return TULLE__ISA_PORTABLE;
#endif
}
