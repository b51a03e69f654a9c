/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu.h"

tulle_status tulle__spmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task)
{
    (void)isa;
    return tulle__kernels_ref()->spmm(pool, task);
}
