/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of a block: allocation, changes of width, and directions set aside. */
#include <string.h>

#include "algo/krylov/block.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"

tulle_status tulle__vector_new(const tulle_operator *A, int width, tulle__vector *v)
{
    const tulle_layout *l = A->layout;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_layout_spec spec = {
        .m = l->m, .n = width, .tile_rows = l->mt, .tile_cols = 1, .row_cut = l->row_cut, .owner = l->owner};
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_layout_new(&spec, A->comm->size, &layout)));
    TULLE_CALL(tulle_mat_new_dense(A->comm, layout, A->type, TULLE_ROW_MAJOR, &v->mat));
    for (int i = 0; i < l->mt; i++)
        if (tulle__tile_is_mine(v->mat, i, 0) && tulle__tile_rows(v->mat, i))
            v->val = tulle__own_tile_in_place(v->mat, i, 0).val;
    return TULLE_OK;
}

/* ---- on a device ---- */

static size_t bytes_of(const tulle__block *b, int columns)
{
    return (size_t)(b->multi.space.rows * columns) * tulle_type_size(b->multi.space.type);
}

tulle_status tulle__block_enter_device(tulle__block *b)
{
    tulle_status status;
    const tulle__space *space = &b->multi.space;
    const tulle__block_vectors *p = &b->vectors;
    size_t panel = bytes_of(b, p->ld);
    const tulle__resident_range range[] = {{b->x, bytes_of(b, b->columns), NULL}, {p->in.val, panel, NULL},
        {p->out.val, panel, NULL}, {p->rest.val, panel, NULL}, {p->pre.val, panel, NULL}};
    const tulle__resident_rows own = {space->type, space->first, space->rows, space->block};
    TULLE_CALL(tulle__resident_open(b->A, b->M, p->bound_M, &own, range, 5, b->multi.most, &b->resident));
    if (!b->resident) return TULLE_OK;
    status = tulle__multi_enter(&b->multi, b->resident, b->columns);
    int64_t here = status == TULLE_OK;
    if (status == TULLE_OK) status = tulle__resident_send(b->resident, b->x, bytes_of(b, b->columns));
    if (status == TULLE_ERR_LIMIT) status = TULLE_OK;
    TULLE_CALL(tulle_comm_agree(b->comm, status));
    TULLE_CALL(tulle_comm_agree(b->comm, tulle_comm_reduce_int(b->comm, TULLE_MIN, 1, &here)));
    if (here) return TULLE_OK;
    (void)tulle__multi_enter(&b->multi, NULL, 0);
    tulle__resident_close(b->resident);
    b->resident = NULL;
    return TULLE_OK;
}

static tulle_status leave_device(tulle__block *b)
{
    if (!b->resident) return TULLE_OK;
    tulle_status status = tulle_comm_agree(b->comm, tulle__resident_fetch_all(b->resident));
    (void)tulle__multi_enter(&b->multi, NULL, 0);
    tulle__resident_close(b->resident);
    b->resident = NULL;
    return status;
}

/* A PE without room sends all back to the host. Agreed. */
static tulle_status stay_resident(tulle__block *b, tulle_status status)
{
    int64_t here = status == TULLE_OK;
    if (status == TULLE_ERR_LIMIT || status == TULLE_ERR_UNSUPPORTED) status = TULLE_OK;
    TULLE_CALL(tulle_comm_agree(b->comm, status));
    TULLE_CALL(tulle_comm_agree(b->comm, tulle_comm_reduce_int(b->comm, TULLE_MIN, 1, &here)));
    return here ? TULLE_OK : leave_device(b);
}

static tulle_status bring_vectors(tulle__block *b, const tulle__block_vectors *p)
{
    const void *const val[] = {p->in.val, p->out.val, p->rest.val, p->pre.val};
    tulle_status status = TULLE_OK;
    if (!b->resident) return TULLE_OK;
    for (int v = 0; status == TULLE_OK && v < 4; v++)
        status = tulle__resident_add(b->resident, val[v], bytes_of(b, p->ld));
    return stay_resident(b, status);
}

/* ---- vectors ---- */

tulle_status tulle__block_vectors_new(tulle__block *b, int width, tulle__block_vectors *vectors)
{
    *vectors = (tulle__block_vectors){.ld = width};
    TULLE_CALL(tulle__vector_new(b->A, width, &vectors->in));
    TULLE_CALL(tulle__vector_new(b->A, width, &vectors->out));
    TULLE_CALL(tulle__vector_new(b->A, width, &vectors->rest));
    TULLE_CALL(tulle__vector_new(b->A, width, &vectors->pre));
    TULLE_CALL(b->A->bind(b->A->context, vectors->in.mat, vectors->out.mat, &vectors->bound_A));
    if (b->M) TULLE_CALL(b->M->bind(b->M->context, vectors->rest.mat, vectors->pre.mat, &vectors->bound_M));
    return bring_vectors(b, vectors);
}

void tulle__block_vectors_free(tulle__block *b, tulle__block_vectors *vectors)
{
    const void *const val[] = {vectors->in.val, vectors->out.val, vectors->rest.val, vectors->pre.val};
    for (int v = 0; b->resident && v < 4; v++) tulle__resident_drop(b->resident, val[v]);
    if (b->resident && vectors->bound_M && b->resident->bound_M == vectors->bound_M)
        (void)tulle__resident_enter(b->resident, NULL, NULL);
    if (vectors->bound_M) b->M->unbind(vectors->bound_M);
    if (vectors->bound_A) b->A->unbind(vectors->bound_A);
    tulle_mat_free(vectors->pre.mat);
    tulle_mat_free(vectors->rest.mat);
    tulle_mat_free(vectors->out.mat);
    tulle_mat_free(vectors->in.mat);
    *vectors = (tulle__block_vectors){.ld = 0};
}

tulle_status tulle__block_move(tulle__block *b, int width, tulle__former_directions *former)
{
    tulle__block_vectors next = {.ld = 0}, *p = &b->vectors, before = *p;
    int q = b->t ? b->m : 0;
    tulle_status status = tulle__block_vectors_new(b, width, &next);
    if (status != TULLE_OK) {
        tulle__block_vectors_free(b, &next);
        return status;
    }
    tulle__multi_term P = {p->in.val, p->ld, b->m, b->m, 1, NULL}, V = {p->out.val, p->ld, b->m, b->m, 1, NULL},
                      T = {p->rest.val, p->ld, b->t, q, 1, b->small->N};
    tulle__multi_tsmm(&b->multi, 1, &P, width, 0, next.in.val, width);
    tulle__multi_tsmm(&b->multi, 1, &T, width, 0, next.rest.val, width);
    if (former) {
        tulle__multi_tsmm(&b->multi, 1, &V, width, 0, next.out.val, width);
        *former = (tulle__former_directions){.D = p->in, .AD = p->out, .ld = p->ld};
        before.in = before.out = (tulle__vector){NULL, NULL};
    }
    tulle__block_vectors_free(b, &before);
    *p = next;
    b->t = q;
    tulle__small_identity(q, b->small->N);
    return b->resident && b->M ? stay_resident(b, tulle__resident_enter(b->resident, b->M, p->bound_M)) : TULLE_OK;
}

void tulle__block_forget(tulle__block *b)
{
    for (int l = 0; l < b->nkept; l++) {
        const tulle__vector *const of[] = {&b->former[l].D, &b->former[l].AD};
        for (int v = 0; v < 2; v++) {
            if (b->resident) tulle__resident_drop(b->resident, of[v]->val);
            tulle_mat_free(of[v]->mat);
        }
    }
    b->nkept = 0;
    b->m = 0;
    b->top = 0;
    b->interval = b->due = 0;
}

tulle_status tulle__block_narrow(tulle__block *b)
{
    tulle__block_small *s = b->small;
    int a = tulle__block_active(b), m = b->m, d = m - a, level = b->nkept;
    tulle__block_vectors *p = &b->vectors;
    double pivot;
    if (2 * a > m || d == 0 || level == TULLE__BLOCK_LEVELS) return TULLE_OK;
    for (int j = 0, k = 0; j < b->columns; j++) {
        if (!b->column[j].active) continue;
        for (int i = 0; i < m; i++) s->A[i][k] = s->C[i][j] / b->column[j].residual;
        k++;
    }
    tulle__small_basis(m, a, s->A, s->U);
    tulle__small_product(m, m, m, s->W, s->U, s->A);
    tulle__small_product_t(m, m, m, s->U, s->A, s->E);
    for (int i = 0; i < d; i++) {
        memcpy(s->L[level][i], s->E[a + i] + a, (size_t)d * sizeof(double));
        memcpy(s->B[i], s->E[a + i], (size_t)a * sizeof(double));
    }
    if (tulle__small_cholesky(d, s->L[level], 0, &pivot) >= 0) return TULLE_OK; /* rounding: the width stays */
    tulle__small_solve(d, s->L[level], a, s->B);
    /* W of P_1 - D B; U with that in its first columns */
    tulle__small_copy(m, m, s->E, s->W);
    for (int i = 0; i < a; i++)
        for (int j = 0; j < a; j++)
            for (int k = 0; k < d; k++) s->W[i][j] -= s->W[i][a + k] * s->B[k][j];
    tulle__small_product_t(a, m, b->columns, s->U, s->C, s->A);
    tulle__small_copy(a, b->columns, s->A, s->C);
    tulle__small_product(b->t, m, a, s->N, s->U, s->A);
    tulle__small_copy(b->t, a, s->A, s->N);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < a; j++)
            for (int k = 0; k < d; k++) s->U[i][j] -= s->U[i][a + k] * s->B[k][j];
    tulle__multi_term P = {p->in.val, p->ld, m, m, 1, s->U}, V = {p->out.val, p->ld, m, m, 1, s->U};
    tulle__multi_tsmm(&b->multi, 1, &P, p->ld, 0, p->in.val, p->ld);
    tulle__multi_tsmm(&b->multi, 1, &V, p->ld, 0, p->out.val, p->ld);
    b->m = a;
    TULLE_CALL(tulle__block_move(b, a, &b->former[level]));
    b->former[level].at = a;
    b->former[level].count = d;
    b->nkept++;
    return TULLE_OK;
}
