/* SPDX-License-Identifier: Apache-2.0 */
/* The product with a slab of blocks as the reference has it. */
#ifndef TULLE_DEVICE_REF_BSR_FORMULA_H
#define TULLE_DEVICE_REF_BSR_FORMULA_H

#include "kernel/kernel.h"

tulle_status tulle__bsr_formula(tulle__pool *pool, const tulle__bsr_task *task);

/* TULLE_ERR_UNSUPPORTED for a pair of types that no kernel has. */
tulle_status tulle__bsr_check(const tulle__bsr_task *task);

#endif
