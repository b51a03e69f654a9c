/* SPDX-License-Identifier: Apache-2.0 */
/* The product with a slab of blocks: row kernels of one instruction set, and what their templates share. */
#ifndef TULLE_DEVICE_CPU_BSR_H
#define TULLE_DEVICE_CPU_BSR_H

#include "device/kernels/cpu.h"

/* Block rows begin .. end - 1 of a slab. */
typedef struct tulle__bsr_rows {
    const tulle__bsr *A;
    int64_t begin, end, k;
    const void *X; /* from line 0 */
    int64_t ldx;
    void *Y; /* not symmetric: from line 0 */
    int64_t ldy;
    /* Symmetric: sums are added to `own` in lines of the rows themselves, from that of row `begin` on, own_ld apart; to
       `beyond` in later ones, from that of row `end` on, k apart. */
    double *own, *beyond;
    int64_t own_ld;
} tulle__bsr_rows;

typedef void (*tulle__bsr_kernel)(const tulle__bsr_rows *rows);

/* The pairs of types that there are. */
typedef enum tulle__bsr_pair { TULLE__BSR_F64, TULLE__BSR_F32_F64, TULLE__BSR_F32, TULLE__BSR_PAIRS } tulle__bsr_pair;

typedef struct tulle__bsr_kernels {
    tulle__bsr_kernel column; /* k = 1, ldx = ldy = 1 */
    tulle__bsr_kernel columns;
    tulle__bsr_kernel half_column; /* symmetric; k = 1, ldx = own_ld = 1 */
    tulle__bsr_kernel half_columns;
} tulle__bsr_kernels;

extern const tulle__bsr_kernels tulle__bsr_portable[TULLE__BSR_PAIRS];
extern const tulle__bsr_kernels tulle__bsr_avx2[TULLE__BSR_PAIRS];
extern const tulle__bsr_kernels tulle__bsr_avx512[TULLE__BSR_PAIRS];

static inline int64_t tulle__bsr_column(const tulle__bsr *A, int64_t row, int64_t e)
{
    return A->index_bytes == 2 ? A->base[row] + (int64_t)((const uint16_t *)A->colind)[e]
                               : (int64_t)((const int32_t *)A->colind)[e];
}

/* Of templates: an order of the lanes of V4. */
typedef int64_t tulle__bsr_order __attribute__((vector_size(32)));
/* The operation on vectors of W doubles that lie in memory as type L, d (double) or s (float). */
#define TULLE__BSR_PASTE(operation, W, L) operation##W##_##L
#define TULLE__BSR_OP(operation, W, L) TULLE__BSR_PASTE(operation, W, L)
/* And a name with the suffix of a pair. */
#define TULLE__BSR_JOIN(name, pair) name##_##pair
#define TULLE__BSR_NAME(name, pair) TULLE__BSR_JOIN(name, pair)

#endif
