/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto over a network: either PE 0 solves with a gathered triangle, or all PEs solve by push. The
 * faster one depends on the network and on the number of rows that can be solved at a time, so both
 * are timed, for right-hand sides with the rows of T, which the gathered method must move. A
 * triangle that is too large for PE 0 is pushed.
 */
#include "algo/trisolve/levels.h"
#include "algo/trisolve/solver.h"
#include "base/error.h"

/* Least number of expected solves, and tries of each. */
enum { SOLVES_LEAST = 50, TRIES = 2 };

/* Seconds: the least time of a value's transfer to another PE; an entry; a row. */
static const double hop_s = 1e-6, entry_s = 0.7e-9, row_s = 3e-9;

/*
 * True if PE 0 alone takes longer than a chain of as many messages as there are levels. Collective.
 */
static tulle_status may_pay(const tulle_trisolve *solver, int *pays)
{
    const tulle__triangle *t = &solver->triangle;
    tulle__levels levels = {.level = NULL};
    int64_t yes = 0;
    tulle_status status = TULLE_OK;
    if (solver->comm->rank == 0) {
        status = tulle__levels_find(t, &levels);
        double alone = (double)(t->own ? t->own : t->T)->nnz * entry_s + (double)t->n * row_s;
        yes = (double)levels.count * hop_s < alone || tulle__is_virtual(solver->comm); /* the rates are unknown there */
        tulle__levels_fini(&levels);
    }
    status = tulle_comm_agree(solver->comm, status);
    if (status == TULLE_OK)
        status = tulle_comm_agree(solver->comm, tulle_comm_broadcast(solver->comm, 0, &yes, sizeof yes));
    *pays = yes != 0;
    return status;
}

/* The least seconds of a solve, once the solver has finished its comparison. */
static tulle_status time_of(tulle_trisolve *solver, tulle_mat *B, tulle_mat *X, double *least)
{
    tulle_trisolve_report report;
    *least = 0;
    while (solver->ncandidates > 1) TULLE_CALL(tulle_trisolve_execute(solver, B, X, NULL));
    for (int i = 0; i < TRIES; i++) {
        TULLE_CALL(tulle_trisolve_execute(solver, B, X, &report));
        if (i == 0 || report.seconds < *least) *least = report.seconds;
    }
    return TULLE_OK;
}

/* Right-hand sides of one column with the rows of T. */
static tulle_status make_rhs(const tulle_mat *T, tulle_mat **B, tulle_mat **X)
{
    const tulle_layout *l = T->layout;
    tulle_layout *layout = NULL;
    int *owner = NULL;
    tulle_status status = tulle__alloc((size_t)l->mt, sizeof *owner, "owners", &owner);
    if (status == TULLE_OK) {
        for (int i = 0; i < l->mt; i++) owner[i] = tulle__layout_owner(l, i, 0);
        tulle_layout_spec spec = {
            .m = l->m, .n = 1, .tile_rows = l->mt, .tile_cols = 1, .row_cut = l->row_cut, .owner = owner};
        status = tulle_layout_new(&spec, T->comm->size, &layout);
    }
    TULLE_TRY(tulle_comm_agree(T->comm, status));
    TULLE_TRY(tulle_mat_new_dense(T->comm, layout, T->type, TULLE_ROW_MAJOR, B));
    status = tulle_mat_new_dense(T->comm, layout, T->type, TULLE_ROW_MAJOR, X);
out:
    tulle_layout_free(layout);
    tulle__free(owner);
    return status;
}

static tulle_status compare(const tulle_mat *T, tulle_trisolve *gathered, tulle_trisolve *pushed, int *push)
{
    tulle_mat *B = NULL, *X = NULL;
    double least[2];
    tulle_status status;
    TULLE_TRY(make_rhs(T, &B, &X));
    TULLE_TRY(time_of(gathered, B, X, &least[0]));
    TULLE_TRY(time_of(pushed, B, X, &least[1]));
    *push = least[1] < least[0];
out:
    tulle_mat_free(B);
    tulle_mat_free(X);
    return status;
}

tulle_status tulle__solver_weigh_push(
    const tulle_mat *T, const tulle_trisolve_options *options, tulle_status status, tulle_trisolve **solver)
{
    tulle_trisolve_options pushing = *options;
    tulle_trisolve *other = NULL;
    int push = 0, pays = 0;
    pushing.method = TULLE_TRISOLVE_PUSH;
    if (T->comm->size > 1 && (status == TULLE_ERR_MEMORY || status == TULLE_ERR_LIMIT))
        return tulle__solver_analyse(T, &pushing, solver);
    if (status != TULLE_OK || (*solver)->triangle.reach != TULLE__ROWS_GATHERED || T->comm->size == 1 ||
        (pushing.solves && pushing.solves < SOLVES_LEAST))
        return status;
    TULLE_TRY(may_pay(*solver, &pays));
    if (!pays) return TULLE_OK;
    TULLE_TRY(tulle__solver_analyse(T, &pushing, &other));
    TULLE_TRY(compare(T, *solver, other, &push));
    if (push) {
        tulle_trisolve *loser = *solver;
        *solver = other;
        other = loser;
    }
out:
    tulle__solver_free(other);
    return status;
}
