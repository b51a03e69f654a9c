/* SPDX-License-Identifier: Apache-2.0 */
/* Tall and narrow matrices: the same task, and the same bits, for all instruction sets. */
#ifndef TULLE_DEVICE_CPU_TALL_H
#define TULLE_DEVICE_CPU_TALL_H

#include "device/kernels/cpu.h"

void tulle__gram_portable(const tulle__gram_task *task);
void tulle__mix_portable(const tulle__mix_task *task);
#if TULLE__HAVE_X86
void tulle__gram_avx2(const tulle__gram_task *task);
void tulle__mix_avx2(const tulle__mix_task *task);
void tulle__gram_avx512(const tulle__gram_task *task);
void tulle__mix_avx512(const tulle__mix_task *task);
#endif

#endif
