/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu kernels of one instruction set: for tests and benchmarks, which compare sets. */
#ifndef TULLE_DEVICE_CPU_CPU_H
#define TULLE_DEVICE_CPU_CPU_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* "portable", "avx2", "avx512". */
const char *tulle__isa_name(tulle__isa isa);

/* The table of one instruction set; NULL if this processor or build lacks it. */
const tulle__kernels *tulle__kernels_cpu_at(tulle__isa isa);

#endif
