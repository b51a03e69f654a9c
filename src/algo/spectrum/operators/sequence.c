/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/operators/sequence.h"

#include "algo/krylov/krylov.h"

struct bound {
    tulle__owned owned;
    const tulle__sequence *sequence;
    tulle__vector between[TULLE__SEQUENCE_MOST];
    void *step[TULLE__SEQUENCE_MOST];
};

static void drop(tulle__owned *object)
{
    tulle__free(object);
}

static void unbind(void *arg)
{
    struct bound *b = arg;
    tulle__pe_disown(&b->owned);
    for (int i = b->sequence->count - 1; i >= 0; i--) {
        if (b->step[i]) b->sequence->op[i]->unbind(b->step[i]);
        tulle_mat_free(b->between[i].mat);
    }
    drop(&b->owned);
}

static tulle_status bind(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    const tulle__sequence *s = context;
    struct bound *b = NULL;
    tulle_comm *comm = x->comm;
    tulle_status status = tulle_comm_agree(comm, tulle__alloc_zero(1, sizeof *b, "an operator", &b));
    if (status != TULLE_OK) {
        tulle__free(b);
        return status;
    }
    tulle__pe_own(comm->pe, &b->owned, drop);
    b->sequence = s;
    for (int i = 0; i < s->count && status == TULLE_OK; i++) {
        const tulle_operator *op = s->op[i];
        const int last = i + 1 == s->count;
        if (!last) status = tulle__vector_new(op, (int)x->layout->n, &b->between[i]);
        if (status == TULLE_OK)
            status = op->bind(op->context, i ? b->between[i - 1].mat : x, last ? y : b->between[i].mat, &b->step[i]);
    }
    if (status == TULLE_OK)
        *out = b;
    else
        unbind(b);
    return status;
}

static tulle_status apply(void *arg)
{
    const struct bound *b = arg;
    for (int i = 0; i < b->sequence->count; i++) TULLE_CALL(b->sequence->op[i]->apply(b->step[i]));
    return TULLE_OK;
}

tulle_operator tulle__sequence_operator(tulle__sequence *sequence)
{
    const tulle_operator *first = sequence->op[0];
    return (tulle_operator){.comm = first->comm,
        .n = first->n,
        .type = first->type,
        .layout = first->layout,
        .context = sequence,
        .bind = bind,
        .apply = apply,
        .unbind = unbind};
}

tulle_status tulle__layout_square_of(const tulle_layout *rows, tulle_comm *comm, tulle_layout **square)
{
    const int parts = rows->mt;
    int *owner = NULL;
    tulle_status status = tulle__alloc((size_t)parts * (size_t)parts + 1, sizeof *owner, "owners", &owner);
    for (int t = 0; t < parts * parts && status == TULLE_OK; t++) owner[t] = tulle__layout_owner(rows, t / parts, 0);
    const tulle_layout_spec spec = {.m = rows->m,
        .n = rows->m,
        .tile_rows = parts,
        .tile_cols = parts,
        .row_cut = rows->row_cut,
        .col_cut = rows->row_cut,
        .owner = owner};
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, square);
    tulle__free(owner);
    return tulle_comm_agree(comm, status);
}
