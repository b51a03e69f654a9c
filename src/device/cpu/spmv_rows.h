/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column, B's rows next to each other, included once an instruction set and
 * type: T, V, U                        the value type, a vector of four, the same without alignment NAME(x) x with the
 * suffixes ROWS                           the function attribute of the instruction set FMA(a, b, c) a b + c of vectors
 *   REST(sum, val, colind, B, n)   sum plus the products of the last n < 4 entries, without a branch where masks exist
 *
 * A row's entries go four to a vector, two vectors side by side: what bounds the loop is one load of a column and one
 * of B an entry, and what bounds short rows is a wrongly foreseen branch, of which there are three a row.
 */

ROWS static inline __attribute__((always_inline)) V NAME(gather)(const T *B, const int32_t *colind)
{
    return (V){B[colind[0]], B[colind[1]], B[colind[2]], B[colind[3]]};
}

ROWS static inline __attribute__((always_inline)) V NAME(four)(V sum, const T *val, const int32_t *colind, const T *B)
{
    return FMA(*(const U *)(const void *)val, NAME(gather)(B, colind), sum);
}

/* sum[0 .. 1] += row i of the pair's product. */
ROWS static inline __attribute__((always_inline)) void NAME(row)(
    V *sum, const int64_t *rowptr, const int32_t *colind, const T *val, const T *B, int64_t i)
{
    int64_t a = rowptr[i], end = rowptr[i + 1];
    for (; a + 8 <= end; a += 8) {
        sum[0] = NAME(four)(sum[0], val + a, colind + a, B);
        sum[1] = NAME(four)(sum[1], val + a + 4, colind + a + 4, B);
    }
    if (a + 4 <= end) {
        sum[0] = NAME(four)(sum[0], val + a, colind + a, B);
        a += 4;
    }
    sum[1] = REST(sum[1], val + a, colind + a, B, end - a);
}

/* One pair's arrays stay in registers: a row of few entries costs as much as finding them would. */
ROWS static inline __attribute__((always_inline)) void NAME(all)(const tulle__spmm_rows *rows, const int one)
{
    T *C = rows->C;
    const tulle__spmm_operand *pair = rows->pair;
    const tulle__csr first = pair->A;
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    const int64_t end = rows->end, ldc = rows->ldc;
    const int npairs = rows->npairs;
    const T *B = pair->B;
    for (int64_t i = rows->begin; i < end; i++, C += ldc) {
        V sum[2] = {{0}, {0}};
        if (one)
            NAME(row)(sum, first.rowptr, first.colind, first.val, B, i);
        else
            for (int p = 0; p < npairs; p++)
                NAME(row)(sum, pair[p].A.rowptr, pair[p].A.colind, pair[p].A.val, pair[p].B, i);
        sum[0] += sum[1];
        T x = ((sum[0][0] + sum[0][2]) + (sum[0][1] + sum[0][3])) * alpha;
        *C = beta == 0 ? x : x + beta * *C;
    }
}

ROWS static void NAME(rows)(const tulle__spmm_rows *rows)
{
    rows->npairs == 1 ? NAME(all)(rows, 1) : NAME(all)(rows, 0);
}

#undef V
#undef U
#undef NAME
#undef FMA
#undef REST
