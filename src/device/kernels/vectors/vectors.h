/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and combinations of vectors: the same task, and the same bits, for all instruction sets. */
#ifndef TULLE_DEVICE_CPU_VECTORS_H
#define TULLE_DEVICE_CPU_VECTORS_H

#include "device/kernels/cpu.h"

void tulle__dots_portable(const tulle__dots_task *task);
void tulle__combine_portable(const tulle__combine_task *task);
#if TULLE__HAVE_X86
void tulle__dots_avx2(const tulle__dots_task *task);
void tulle__combine_avx2(const tulle__combine_task *task);
void tulle__dots_avx512(const tulle__dots_task *task);
void tulle__combine_avx512(const tulle__combine_task *task);
#endif

#endif
