/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/verify_kinds.h"

#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"

enum { MUST_NAN = 1, MUST_INF = 2, MAY = 4, ODD_IN_A = 8, C_NAN = 16, C_INF = 32 };

struct product {
    const unsigned char *b; /* kinds in each row of op(B) */
    unsigned char *row;
};

/* The part of a row of C that an entry of A makes of a row of B. */
static void add_entry(void *context, tulle_gidx row, tulle_gidx col, double a)
{
    const struct product *p = context;
    const unsigned char b = p->b[col];
    int made = 0;
    if (!b) return;
    if (isnan(a))
        made = b & ~TULLE__HAS_ZERO ? MUST_NAN : MAY;
    else if (isinf(a))
        made = (b & TULLE__HAS_NAN ? MUST_NAN : 0) | (b & TULLE__HAS_ZERO ? MAY : 0) |
               (b & (TULLE__HAS_INF | TULLE__HAS_FINITE) ? MUST_INF : 0);
    else if (a == 0)
        made = b & (TULLE__HAS_NAN | TULLE__HAS_INF) ? MAY : 0;
    else
        made = (b & TULLE__HAS_NAN ? MUST_NAN : 0) | (b & TULLE__HAS_INF ? MUST_INF : 0);
    p->row[row] |= (unsigned char)(made | (isfinite(a) ? 0 : ODD_IN_A));
}

tulle_status tulle__kinds_init(tulle__kinds *kinds, const tulle__operand *A, tulle_op op_a, const tulle_mat *B,
    tulle_op op_b, const tulle_mat *C, const double *look)
{
    const tulle_gidx m = C->layout->m, n = C->layout->n, inner = op_b == TULLE_OP_N ? B->layout->m : B->layout->n;
    TULLE__SCOPED unsigned char *b = NULL, *c = NULL;
    TULLE_CALL(tulle__alloc_zero((size_t)m, 1, "kinds of rows", &kinds->row));
    TULLE_CALL(tulle__alloc_zero((size_t)n, 1, "kinds of columns", &kinds->col));
    TULLE_CALL(tulle__alloc_zero((size_t)inner, 1, "kinds of rows", &b));
    TULLE_CALL(tulle__alloc_zero((size_t)m, 1, "kinds of rows", &c));
    TULLE_CALL(tulle__row_kinds(B, op_b, look, b));
    TULLE_CALL(tulle__row_kinds(B, op_b == TULLE_OP_N ? TULLE_OP_T : TULLE_OP_N, NULL, kinds->col));
    TULLE_CALL(tulle__row_kinds(C, TULLE_OP_N, look, c));
    struct product p = {b, kinds->row};
    TULLE_CALL(tulle_comm_agree(C->comm, tulle__operand_visit(A, op_a, add_entry, &p)));
    TULLE_CALL(tulle__flags_reduce(C->comm, m, kinds->row));
    for (tulle_gidx j = 0; j < n; j++) kinds->col[j] &= TULLE__HAS_NAN | TULLE__HAS_INF;
    for (tulle_gidx r = 0; r < m; r++)
        kinds->row[r] |= (unsigned char)((c[r] & TULLE__HAS_NAN ? C_NAN : 0) | (c[r] & TULLE__HAS_INF ? C_INF : 0));
    return TULLE_OK;
}

void tulle__kinds_fini(tulle__kinds *kinds)
{
    tulle__free(kinds->row);
    tulle__free(kinds->col);
}

/* Sums of such magnitudes may exceed the largest number, in one order or another. */
static bool may_overflow(tulle_type type, double largest)
{
    return !(largest < (type == TULLE_F32 ? (double)FLT_MAX : DBL_MAX) / 4);
}

bool tulle__kinds_comparable(const tulle__kinds *kinds, tulle_type type, tulle_gidx r, double largest)
{
    return !(kinds->row[r] & ODD_IN_A) && !may_overflow(type, largest);
}

tulle_status tulle__kinds_compare(
    const tulle__kinds *kinds, tulle_type type, bool keeps, double alpha, tulle_gidx r, double largest)
{
    const int k = kinds->row[r];
    const bool odd = k & (C_NAN | C_INF);
    if (!isfinite(alpha) || may_overflow(type, largest)) return TULLE_OK;
    if (odd && (alpha == 0 || !(k & (MUST_NAN | MUST_INF | MAY))))
        return tulle__fail(
            TULLE_ERR_CHECK, "row " TULLE__AT " of C holds %s, which no product makes", r, k & C_NAN ? "nan" : "inf");
    if (keeps || alpha == 0) return TULLE_OK;
    if (k & MUST_NAN && !(k & C_NAN))
        return tulle__fail(TULLE_ERR_CHECK, "row " TULLE__AT " of C lacks nan, which A and B make there", r);
    if (k & MUST_INF && !odd)
        return tulle__fail(TULLE_ERR_CHECK, "row " TULLE__AT " of C is finite, but A and B make inf there", r);
    return TULLE_OK;
}
