/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve: the task is the same for all instruction sets, and so is every bit of the result. */
#ifndef TULLE_DEVICE_CPU_SOLVE_H
#define TULLE_DEVICE_CPU_SOLVE_H

#include "device/cpu/cpu.h"

void tulle__solve_portable(const tulle__solve_task *task);
#if TULLE__HAVE_X86
void tulle__solve_avx2(const tulle__solve_task *task);
void tulle__solve_avx512(const tulle__solve_task *task);
#endif

#endif
