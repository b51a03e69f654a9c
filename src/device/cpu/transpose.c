/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu.h"

tulle_status tulle__transpose_cpu(tulle__pool *pool, tulle_type type, const tulle__csr *A, tulle__csr_result *result)
{
    return tulle__kernels_ref()->transpose(pool, type, A, result);
}
