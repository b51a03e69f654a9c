/* SPDX-License-Identifier: Apache-2.0 */
#include "device/kernel.h"

const tulle__kernels *tulle__kernels_cpu(void)
{
    return tulle__kernels_ref();
}

const char *tulle__kernels_cpu_isa(void)
{
    return "portable";
}
