/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/operators/permuted_solve.h"

#include <string.h>

#include <tulle/trisolve.h>

#include "base/error.h"
#include "mat/mat.h"

struct solve {
    tulle__owned owned;
    const tulle_direct *factors;
    tulle_trisolve *step[2];
    tulle_gidx *place; /* [n]: the row of the solves' vectors that is row i of y */
};

struct bound {
    tulle__owned owned;
    const struct solve *solve;
    tulle_mat *x, *y, *between;
    char *mine, *all, *whole; /* own rows; those of all PEs, `part` bytes apart; all rows in order */
    size_t line, part;
};

/* ---- rows of vectors ---- */

/* The most rows of a PE. */
static tulle_gidx longest_part(const tulle_layout *layout, int pes)
{
    tulle_gidx most = 0;
    for (int pe = 0; pe < pes; pe++) {
        tulle_gidx rows = 0;
        for (int i = 0; i < layout->mt; i++)
            if (tulle__layout_owner(layout, i, 0) == pe) rows += layout->row_cut[i + 1] - layout->row_cut[i];
        if (rows > most) most = rows;
    }
    return most;
}

/* whole = X. Collective, agreed. */
static tulle_status gather(struct bound *b, tulle_mat *X)
{
    tulle_comm *comm = X->comm;
    const tulle_layout *layout = X->layout;
    char *to = b->mine;
    for (int i = 0; i < layout->mt; i++) {
        if (!tulle__tile_is_mine(X, i, 0) || layout->row_cut[i] == layout->row_cut[i + 1]) continue;
        const tulle_own_tile tile = tulle__own_tile_in_place(X, i, 0);
        for (tulle_gidx r = 0; r < tile.m; r++, to += b->line)
            memcpy(to, (const char *)tile.val + (size_t)(r * tile.ld) * tulle_type_size(X->type), b->line);
    }
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_allgather(comm, b->mine, b->part, b->all)));
    for (int pe = 0; pe < comm->size; pe++) {
        const char *from = b->all + (size_t)pe * b->part;
        for (int i = 0; i < layout->mt; i++) {
            const size_t bytes = (size_t)(layout->row_cut[i + 1] - layout->row_cut[i]) * b->line;
            if (tulle__layout_owner(layout, i, 0) != pe || !bytes) continue;
            memcpy(b->whole + (size_t)layout->row_cut[i] * b->line, from, bytes);
            from += bytes;
        }
    }
    return TULLE_OK;
}

static void divide(tulle_type type, void *x, tulle_gidx count, double by)
{
    for (tulle_gidx c = 0; c < count; c++)
        if (type == TULLE_F32)
            ((float *)x)[c] = (float)((double)((float *)x)[c] / by);
        else
            ((double *)x)[c] /= by;
}

/* Own rows of X: row i is row from[i] of `whole`, over scale[i] if there is one. */
static void scatter(const struct bound *b, const tulle_gidx *from, const double *scale, tulle_mat *X)
{
    const tulle_layout *layout = X->layout;
    for (int i = 0; i < layout->mt; i++) {
        if (!tulle__tile_is_mine(X, i, 0) || layout->row_cut[i] == layout->row_cut[i + 1]) continue;
        const tulle_own_tile tile = tulle__own_tile_in_place(X, i, 0);
        for (tulle_gidx r = 0; r < tile.m; r++) {
            const tulle_gidx row = layout->row_cut[i] + r;
            char *to = (char *)tile.val + (size_t)(r * tile.ld) * tulle_type_size(X->type);
            memcpy(to, b->whole + (size_t)from[row] * b->line, b->line);
            if (scale) divide(X->type, to, layout->n, scale[row]);
        }
    }
}

/* ---- the operator ---- */

static void drop_bound(tulle__owned *object)
{
    struct bound *b = (struct bound *)object;
    tulle__free(b->whole);
    tulle__free(b->all);
    tulle__free(b->mine);
    tulle__free(b);
}

static void unbind(void *arg)
{
    struct bound *b = arg;
    tulle__pe_disown(&b->owned);
    tulle_mat_free(b->between);
    drop_bound(&b->owned);
}

static tulle_status bind(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    const struct solve *s = context;
    tulle_comm *comm = x->comm;
    const size_t n = (size_t)x->layout->m, pes = (size_t)comm->size;
    struct bound *b = NULL;
    tulle_layout *layout = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle__alloc_zero(1, sizeof *b, "a direct solve", &b));
    if (status != TULLE_OK) {
        tulle__free(b);
        return status;
    }
    tulle__pe_own(comm->pe, &b->owned, drop_bound);
    b->solve = s;
    b->x = x;
    b->y = y;
    b->line = (size_t)x->layout->n * tulle_type_size(x->type);
    TULLE_TRY(tulle_trisolve_layout(s->step[0], x->layout->n, &layout));
    const tulle_gidx own = longest_part(x->layout, comm->size), theirs = longest_part(layout, comm->size);
    b->part = (size_t)(own > theirs ? own : theirs) * b->line;
    TULLE_TRY(tulle__alloc_zero(b->part, 1, "own rows of vectors", &b->mine));
    TULLE_TRY(tulle__alloc(b->part, pes, "rows of vectors", &b->all));
    TULLE_TRY(tulle__alloc(n, b->line, "rows of vectors", &b->whole));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, x->type, TULLE_ROW_MAJOR, &b->between);
    tulle_layout_free(layout);
    if (status == TULLE_OK)
        *out = b;
    else
        unbind(b);
    return status;
}

static tulle_status apply(void *arg)
{
    struct bound *b = arg;
    const struct solve *s = b->solve;
    TULLE_CALL(gather(b, b->x));
    scatter(b, s->factors->row, s->factors->scale, b->between);
    for (int i = 0; i < 2 && s->step[i]; i++)
        TULLE_CALL(tulle_trisolve_execute(s->step[i], b->between, b->between, NULL));
    TULLE_CALL(gather(b, b->between));
    scatter(b, s->place, NULL, b->y);
    return TULLE_OK;
}

static void drop_solve(tulle__owned *object)
{
    struct solve *s = (struct solve *)object;
    tulle__free(s->place);
    tulle__free(s);
}

static void free_solve(void *context)
{
    struct solve *s = context;
    tulle__pe_disown(&s->owned);
    tulle_trisolve_free(s->step[1]);
    tulle_trisolve_free(s->step[0]);
    drop_solve(&s->owned);
}

tulle_status tulle__permuted_solve(tulle_comm *comm, const tulle_direct *factors, tulle__triangles triangles,
    const tulle_layout *layout, tulle_operator *op)
{
    struct solve *s = NULL;
    tulle_trisolve_options first = {.diag = triangles == TULLE__TRIANGLES_BOTH ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED,
        .op = triangles == TULLE__TRIANGLES_TRANSPOSED ? TULLE_OP_T : TULLE_OP_N};
    const tulle_trisolve_options second = {.uplo = TULLE_UPPER};
    tulle_status status = tulle_comm_agree(comm, tulle__alloc_zero(1, sizeof *s, "a direct solve", &s));
    if (status != TULLE_OK) {
        tulle__free(s);
        return status;
    }
    tulle__pe_own(comm->pe, &s->owned, drop_solve);
    s->factors = factors;
    status = tulle_comm_agree(comm, tulle__alloc((size_t)factors->n, sizeof *s->place, "a permutation", &s->place));
    for (tulle_gidx i = 0; i < factors->n && status == TULLE_OK; i++) s->place[factors->col[i]] = i;
    if (status == TULLE_OK) status = tulle_trisolve_new(factors->L, &first, &s->step[0]);
    if (status == TULLE_OK && triangles == TULLE__TRIANGLES_BOTH)
        status = tulle_trisolve_new(factors->U, &second, &s->step[1]);
    if (status != TULLE_OK) {
        free_solve(s);
        return status;
    }
    *op = (tulle_operator){.comm = comm,
        .n = factors->n,
        .type = tulle_mat_type(factors->L),
        .layout = layout,
        .context = s,
        .bind = bind,
        .apply = apply,
        .unbind = unbind,
        .free = free_solve};
    return TULLE_OK;
}
