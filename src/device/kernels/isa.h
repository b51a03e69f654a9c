/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction sets. A family's row kernels (NAME_kernels.c) are compiled once for each set that the build has, over
 * lanes.h; src/CMakeLists.txt has the flags. What differs between sets is found in tables indexed by tulle__isa, whose
 * entry is empty for a set that the build lacks.
 */
#ifndef TULLE_DEVICE_KERNELS_ISA_H
#define TULLE_DEVICE_KERNELS_ISA_H

#include "base/host/processor.h"

/* 0 in a build without the sets of x86-64: by the compiler's target, or by the option TULLE_X86 of CMake. */
#ifndef TULLE__HAVE_X86
#if defined(__x86_64__) && defined(__GNUC__)
#define TULLE__HAVE_X86 1
#else
#define TULLE__HAVE_X86 0
#endif
#endif

/* Expands to each(NAME, tulle__isa) for every set of the build: a declaration, a table's entry, a function. */
#if TULLE__HAVE_X86
#define TULLE__EACH_ISA(each)                                                                                          \
    each(portable, TULLE__ISA_PORTABLE) each(avx2, TULLE__ISA_AVX2) each(avx512, TULLE__ISA_AVX512)
#else
#define TULLE__EACH_ISA(each) each(portable, TULLE__ISA_PORTABLE)
#endif

#endif
