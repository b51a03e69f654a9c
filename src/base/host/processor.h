/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets of this processor, from the least to the widest. */
#ifndef TULLE_BASE_PROCESSOR_H
#define TULLE_BASE_PROCESSOR_H

typedef enum tulle__isa { TULLE__ISA_PORTABLE, TULLE__ISA_AVX2, TULLE__ISA_AVX512, TULLE__ISA_COUNT } tulle__isa;

/* The widest set whose instructions, all that src/CMakeLists.txt compiles its kernels for, this processor has. */
tulle__isa tulle__processor_isa(void);

#endif
