/* SPDX-License-Identifier: Apache-2.0 */
/* The product with a slab of blocks, and its row kernels for each instruction set. */
#ifndef TULLE_DEVICE_KERNELS_BSR_H
#define TULLE_DEVICE_KERNELS_BSR_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

tulle_status tulle__bsr_cpu(tulle__isa isa, tulle__pool *pool, const tulle__bsr_task *task);

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

#define TULLE__DECLARE(isa, index) extern const tulle__bsr_kernels tulle__bsr_##isa[TULLE__BSR_PAIRS];
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

static inline int64_t tulle__bsr_column(const tulle__bsr *A, int64_t row, int64_t e)
{
    return A->index_bytes == 2 ? A->base[row] + (int64_t)((const uint16_t *)A->colind)[e]
                               : (int64_t)((const int32_t *)A->colind)[e];
}

#endif
