/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of a row's elimination, included once a type: T, and NAME(x) is x with the suffix. Row i
 * of A is expanded into w->row, indexed by `place`; the factors' row is written once, at the end.
 */

/*
 * Expands a row of A, entries first .. first + count - 1 of its tile, into w->row. Returns the
 * largest magnitude.
 */
static T NAME(gather)(tulle__eliminator *w, const tulle_tile *A, int64_t first, int64_t count)
{
    const T *val = (const T *)A->val + first;
    const int32_t *col = A->colind + first;
    T *row = w->row, most = 0;
    for (int64_t p = 0; p < count; p++) {
        T size = val[p] < 0 ? -val[p] : val[p];
        row[p] = val[p];
        w->place[col[p]] = (int32_t)p + 1;
        if (size > most) most = size;
    }
    return most;
}

static void NAME(leave)(tulle__eliminator *w, const tulle_tile *A, int64_t first, int64_t count)
{
    for (int64_t p = 0; p < count; p++) w->place[A->colind[first + p]] = 0;
}

/*
 * For each k < i of the row, ascending: l_ik = a_ik / u_kk; a_ij -= l_ik u_kj for the j > k of both
 * rows.
 */
static void NAME(ilu_row)(tulle__elimination *e, tulle__eliminator *w, int worker, int t, int64_t i)
{
    const tulle_tile *A = &e->A[t];
    const tulle_own_tile *L = &e->L[t], *U = &e->U[t];
    int64_t r = i - e->cut[t], first = A->rowptr[r], count = A->rowptr[r + 1] - first;
    int64_t lower = L->rowptr[r + 1] - L->rowptr[r], updates = 0;
    const int32_t *col = A->colind + first;
    T *row = w->row, most = NAME(gather)(w, A, first, count);
    for (int64_t p = 0, s = -1; p < lower; p++) {
        int64_t k = col[p];
        if (!await_row(e, w, worker, k)) break;
        s = tile_from(e, (int)s, k);
        const tulle_own_tile *V = &e->U[s];
        const int64_t *ends = V->rowptr + (k - e->cut[s]);
        const T *val = V->val;
        T l = row[p] / val[ends[0]];
        row[p] = l;
        for (int64_t q = ends[0] + 1; q < ends[1]; q++) {
            int32_t at = w->place[V->colind[q]];
            if (at) row[at - 1] -= l * val[q];
        }
        updates += ends[1] - ends[0];
    }
    NAME(leave)(w, A, first, count);
    T pivot = row[lower], least = (T)e->floor * most, size = pivot < 0 ? -pivot : pivot;
    if (size < least) {
        row[lower] = pivot < 0 ? -least : least;
        w->lifted++;
        if (i < w->first_lifted) w->first_lifted = i;
    }
    note_pivot(w, i, (double)row[lower], row[lower] == 0 ? TULLE__PIVOT_ZERO : TULLE__PIVOT_FINE);
    memcpy((T *)L->val + L->rowptr[r], row, (size_t)lower * sizeof(T));
    memcpy((T *)U->val + U->rowptr[r], row + lower, (size_t)(count - lower) * sizeof(T));
    w->flops += 2. * (double)updates;
}

/*
 * l_ik = (a_ik - sum of l_ij l_kj, j < k of both rows) / l_kk for k ascending; l_ii = sqrt(a_ii -
 * sum of l_ik^2).
 */
static void NAME(ic_row)(tulle__elimination *e, tulle__eliminator *w, int worker, int t, int64_t i)
{
    const tulle_tile *A = &e->A[t];
    const tulle_own_tile *L = &e->L[t];
    int64_t r = i - e->cut[t], first = A->rowptr[r], lower = L->rowptr[r + 1] - L->rowptr[r] - 1, updates = 0;
    const int32_t *col = A->colind + first;
    T *row = w->row;
    (void)NAME(gather)(w, A, first, lower + 1);
    for (int64_t p = 0, s = -1; p < lower; p++) {
        int64_t k = col[p];
        if (!await_row(e, w, worker, k)) break;
        s = tile_from(e, (int)s, k);
        const tulle_own_tile *V = &e->L[s];
        const int64_t *ends = V->rowptr + (k - e->cut[s]);
        const T *val = V->val;
        T sum = row[p];
        for (int64_t q = ends[0]; q + 1 < ends[1]; q++) {
            int32_t at = w->place[V->colind[q]];
            if (at) sum -= row[at - 1] * val[q];
        }
        row[p] = sum / val[ends[1] - 1];
        updates += ends[1] - ends[0];
    }
    NAME(leave)(w, A, first, lower + 1);
    T pivot = row[lower] + (T)e->alpha * row[lower];
    for (int64_t p = 0; p < lower; p++) pivot -= row[p] * row[p];
    note_pivot(w, i, (double)pivot, pivot > 0 ? TULLE__PIVOT_FINE : TULLE__PIVOT_NEGATIVE);
    row[lower] = (T)sqrt((double)pivot);
    memcpy((T *)L->val + L->rowptr[r], row, (size_t)(lower + 1) * sizeof(T));
    w->flops += 2. * (double)(updates + lower);
}
