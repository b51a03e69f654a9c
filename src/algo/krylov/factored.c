/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors as a preconditioner: two triangular solves, each analysed once. */
#include <tulle/trisolve.h>

#include "algo/krylov/gathered_solve.h"
#include "algo/krylov/precond.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "algo/trisolve/device/triangle_there.h"
#include "base/error.h"
#include "mat/mat.h"

struct factored {
    tulle__owned owned;
    tulle_mat *L, *U; /* U: NULL if L^T is the other factor */
    tulle_trisolve *first, *second;
    tulle_trisolve_options options[2]; /* of these */
    tulle__resident_context on_device;
};

/* The vectors, and the intermediate one of the two solves. */
struct bound {
    tulle__owned owned;
    const struct factored *factored;
    tulle_mat *x, *y, *between;
    /* Both factors, and the intermediate vector, while vectors lie on a device. */
    tulle__triangle_there there[2];
    tulle__device *device;
    tulle__device_buffer *middle;
    tulle__gathered_solve *gathered; /* of several PEs; NULL: of one */
};

static void drop(tulle__owned *object)
{
    tulle__free(object);
}

static void free_factored(void *context)
{
    struct factored *f = context;
    tulle__pe_disown(&f->owned);
    tulle_trisolve_free(f->second);
    tulle_trisolve_free(f->first);
    tulle_mat_free(f->U);
    tulle_mat_free(f->L);
    drop(&f->owned);
}

static tulle_status bind_factored(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    struct factored *f = context;
    struct bound *bound = NULL;
    tulle_layout *layout = NULL;
    tulle_comm *comm = x->comm;
    tulle_status status = tulle__alloc_zero(1, sizeof *bound, "a preconditioner", &bound);
    if (status == TULLE_OK) status = tulle_trisolve_layout(f->first, x->layout->n, &layout);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, x->type, TULLE_ROW_MAJOR, &bound->between));
    bound->factored = f;
    bound->x = x;
    bound->y = y;
    tulle__pe_own(comm->pe, &bound->owned, drop);
    *out = bound;
out:
    tulle_layout_free(layout);
    if (status != TULLE_OK) tulle__free(bound);
    return status;
}

static tulle_status apply_factored(void *arg)
{
    struct bound *bound = arg;
    const struct factored *f = bound->factored;
    TULLE_CALL(tulle_trisolve_execute(f->first, bound->x, bound->between, NULL));
    return tulle_trisolve_execute(f->second, bound->between, bound->y, NULL);
}

static void unbind_factored(void *arg)
{
    struct bound *bound = arg;
    tulle__pe_disown(&bound->owned);
    tulle_mat_free(bound->between);
    drop(&bound->owned);
}

/* ---- vectors on a device ---- */

static void leave_factored(void *arg)
{
    struct bound *bound = arg;
    for (int f = 0; f < 2; f++) tulle__triangle_there_fini(&bound->there[f]);
    if (bound->device) tulle__device_buffer_free(bound->device, bound->middle);
    tulle__gathered_solve_free(bound->gathered);
    bound->gathered = NULL;
    bound->device = NULL;
    bound->middle = NULL;
}

static tulle_status enter_factored(void *arg, tulle__device *device, tulle__device_queue *queue)
{
    struct bound *bound = arg;
    const tulle__triangle *first = &bound->factored->first->triangle, *second = &bound->factored->second->triangle;
    tulle_status status;
    const struct factored *f = bound->factored;
    if (bound->x->comm->size > 1)
        return tulle__gathered_solve_new(
            f->L, &f->options[0], f->U ? f->U : f->L, &f->options[1], bound->x, device, queue, &bound->gathered);
    bound->device = device;
    TULLE_TRY(tulle__triangle_there_init(first, device, queue, &bound->there[0]));
    TULLE_TRY(tulle__triangle_there_init(second, device, queue, &bound->there[1]));
    size_t line = (size_t)bound->x->layout->n * tulle_type_size(bound->x->type);
    TULLE_TRY(tulle__device_buffer_new(device, (size_t)first->n * line, "vectors between two solves", &bound->middle));
out:
    if (status != TULLE_OK) leave_factored(bound);
    return status;
}

static tulle_status apply_there(void *arg, const tulle__device_place *x, const tulle__device_place *y)
{
    const struct bound *bound = arg;
    const tulle__device_place middle = {bound->middle, 0};
    const int64_t cols = bound->x->layout->n;
    if (bound->gathered) return tulle__gathered_solve_apply(bound->gathered, x, y);
    tulle__triangle_there_solve(&bound->factored->first->triangle, &bound->there[0], x, &middle, cols);
    tulle__triangle_there_solve(&bound->factored->second->triangle, &bound->there[1], &middle, y, cols);
    return TULLE_OK;
}

static const struct tulle__resident resident = {.enter = enter_factored, .leave = leave_factored, .apply = apply_there};

/* Collective, agreed. */
static tulle_status factorise(
    struct factored *f, const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options)
{
    int cholesky = precond == TULLE_PRECOND_IC0;
    tulle_trisolve_options first = {.size = 0}, second = {.size = 0};
    const tulle_factor_options factor = {.floor = options->floor, .shift = options->shift};
    first.solves = second.solves = options->solves;
    if (cholesky) {
        second.op = TULLE_OP_T;
        TULLE_CALL(tulle_factor_ic0(A, &factor, &f->L, options->report));
    } else {
        first.diag = TULLE_DIAG_UNIT;
        second.uplo = TULLE_UPPER;
        TULLE_CALL(tulle_factor_ilu0(A, &factor, &f->L, &f->U, options->report));
    }
    f->options[0] = first;
    f->options[1] = second;
    TULLE_CALL(tulle_trisolve_new(f->L, &first, &f->first));
    return tulle_trisolve_new(cholesky ? f->L : f->U, &second, &f->second);
}

tulle_status tulle__factored_new(
    const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options, tulle_operator *M)
{
    struct factored *f = NULL;
    tulle_comm *comm = A->comm;
    tulle_status status = tulle_comm_agree(comm, tulle__alloc_zero(1, sizeof *f, "a preconditioner", &f));
    if (status != TULLE_OK) {
        tulle__free(f);
        return status;
    }
    tulle__pe_own(comm->pe, &f->owned, drop);
    status = factorise(f, A, precond, options);
    if (status != TULLE_OK) {
        free_factored(f);
        return status;
    }
    *M = (tulle_operator){.comm = comm,
        .n = A->layout->m,
        .type = A->type,
        .context = f,
        .bind = bind_factored,
        .apply = apply_factored,
        .unbind = unbind_factored,
        .free = free_factored};
    tulle__resident_set(&resident, &f->on_device, M);
    return TULLE_OK;
}
