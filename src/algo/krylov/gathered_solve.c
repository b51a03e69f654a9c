/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/gathered_solve.h"

#include <unistd.h>

#include "base/error.h"
#include "mat/mat.h"

/* Facts that PEs exchange. */
struct peer {
    int64_t process;
    const void *code; /* of two processes it is hardly at the same address */
    tulle__device *device;
    tulle__device_place x, all; /* own rows; PE 0: all rows */
};

struct tulle__gathered_solve {
    tulle_comm *comm;
    tulle__device *device;
    tulle__device_queue *queue;
    tulle_trisolve *solver[2]; /* of which PE 0 has all rows of the triangles */
    tulle__triangle_there there[2];
    tulle__device_buffer *all, *middle; /* on PE 0: of all rows */
    int64_t cols, *first;               /* [size + 1]: rows of PEs */
    size_t line;
    struct peer *peer; /* [size] */
};

/* Rows of a PE follow each other, and those of the PE before. */
static tulle_status find_rows(tulle__gathered_solve *g, const tulle_mat *x)
{
    const tulle_layout *l = x->layout;
    int at = 0;
    for (int r = 0; r < g->comm->size; r++) {
        g->first[r] = l->row_cut[at];
        while (at < l->mt && tulle__layout_owner(l, at, 0) == r) at++;
    }
    g->first[g->comm->size] = l->m;
    if (at == l->mt) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "vectors whose rows are not in the order of PEs");
}

/* All PEs are threads of this process, whose devices copy from each other. Collective, agreed. */
static tulle_status meet(tulle__gathered_solve *g)
{
    tulle_comm *comm = g->comm;
    int near_rank, near_size, processes;
    const tulle__device_ops *ops = g->device->ops;
    struct peer mine = {.process = getpid(), .code = &tulle__gathered_solve_new, .device = g->device};
    tulle_status status = tulle_comm_agree(comm, tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    if (status == TULLE_OK) status = tulle_comm_allgather(comm, &mine, sizeof mine, g->peer);
    for (int r = 0; r < comm->size && status == TULLE_OK; r++) {
        const struct peer *p = &g->peer[r];
        if (near_size != comm->size || p->process != mine.process || p->code != mine.code)
            status =
                tulle__fail(TULLE_ERR_UNSUPPORTED, "triangular solves with vectors on devices of several processes");
        else if (r != comm->rank && (r == 0 || comm->rank == 0) && !ops->peer(g->device, p->device))
            status = tulle__fail(
                TULLE_ERR_UNSUPPORTED, "the device '%s' copies nothing from other PEs' devices", g->device->name);
    }
    return tulle_comm_agree(comm, status);
}

/* PE 0: the triangles, and room for all rows. */
static tulle_status negotiate(tulle__gathered_solve *g)
{
    size_t bytes = (size_t)g->first[g->comm->size] * g->line;
    if (g->comm->rank) return TULLE_OK;
    for (int f = 0; f < 2; f++)
        TULLE_CALL(tulle__triangle_there_init(&g->solver[f]->triangle, g->device, g->queue, &g->there[f]));
    TULLE_CALL(tulle__device_buffer_new(g->device, bytes, "vectors of all PEs", &g->all));
    return tulle__device_buffer_new(g->device, bytes, "vectors between two solves", &g->middle);
}

tulle_status tulle__gathered_solve_new(const tulle_mat *L, const tulle_trisolve_options *first, const tulle_mat *U,
    const tulle_trisolve_options *second, const tulle_mat *x, tulle__device *device, tulle__device_queue *queue,
    tulle__gathered_solve **out)
{
    tulle_comm *comm = L->comm;
    tulle__gathered_solve *g = NULL;
    const tulle_mat *const of[2] = {L, U};
    const tulle_trisolve_options *const given[2] = {first, second};
    size_t size = (size_t)comm->size;
    tulle_status status = tulle__alloc_zero(1, sizeof *g, "triangles on a device", &g);
    if (status == TULLE_OK) {
        g->comm = comm;
        g->device = device;
        g->queue = queue;
        g->cols = x->layout->n;
        g->line = (size_t)g->cols * tulle_type_size(x->type);
        status = tulle__alloc_zero(size, sizeof *g->peer, "PEs", &g->peer);
    }
    if (status == TULLE_OK) status = tulle__alloc_zero(size + 1, sizeof *g->first, "rows of PEs", &g->first);
    if (status == TULLE_OK) status = find_rows(g, x);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(meet(g));
    for (int f = 0; f < 2; f++) {
        tulle_trisolve_options o = *given[f];
        o.method = TULLE_TRISOLVE_SERIAL;
        TULLE_TRY(tulle_trisolve_new(of[f], &o, &g->solver[f]));
    }
    TULLE_TRY(tulle_comm_agree(comm, negotiate(g)));
    *out = g;
    return TULLE_OK;
out:
    tulle__gathered_solve_free(g);
    return status;
}

void tulle__gathered_solve_free(tulle__gathered_solve *g)
{
    if (!g) return;
    for (int f = 0; f < 2; f++) {
        tulle__triangle_there_fini(&g->there[f]);
        tulle_trisolve_free(g->solver[f]);
    }
    tulle__device_buffer_free(g->device, g->all);
    tulle__device_buffer_free(g->device, g->middle);
    tulle__free(g->first);
    tulle__free(g->peer);
    tulle__free(g);
}

/* Rows of a PE, between a device that has them alone and one that has all. */
static void copy_rows(
    tulle__gathered_solve *g, int of, tulle__device_place to, tulle__device_place from, tulle__device *source)
{
    size_t bytes = (size_t)(g->first[of + 1] - g->first[of]) * g->line;
    const tulle__device_copy copy = {
        .to = to, .from = from, .source = source == g->device ? NULL : source, .lines = 1, .width = bytes};
    if (bytes) g->device->ops->copy(g->queue, &copy);
}

/* On PE 0: all rows come, and are solved for. */
static tulle_status solve(tulle__gathered_solve *g)
{
    const tulle__device_place all = {g->all, 0}, middle = {g->middle, 0};
    if (g->comm->rank) return TULLE_OK;
    for (int r = 0; r < g->comm->size; r++)
        copy_rows(g, r, (tulle__device_place){g->all, (size_t)g->first[r] * g->line}, g->peer[r].x, g->peer[r].device);
    tulle__triangle_there_solve(&g->solver[0]->triangle, &g->there[0], &all, &middle, g->cols);
    tulle__triangle_there_solve(&g->solver[1]->triangle, &g->there[1], &middle, &all, g->cols);
    return g->device->ops->queue_wait(g->queue);
}

tulle_status tulle__gathered_solve_apply(
    tulle__gathered_solve *g, const tulle__device_place *x, const tulle__device_place *y)
{
    tulle_status status;
    tulle_comm *comm = g->comm;
    const tulle__device_ops *ops = g->device->ops;
    struct peer mine = g->peer[comm->rank];
    mine.x = *x;
    mine.all = (tulle__device_place){g->all, 0};
    TULLE_TRY(tulle_comm_agree(comm, ops->queue_wait(g->queue))); /* x is there, on all PEs */
    TULLE_TRY(tulle_comm_agree(comm, tulle_comm_allgather(comm, &mine, sizeof mine, g->peer)));
    TULLE_TRY(tulle_comm_agree(comm, solve(g)));
    tulle__device_place from = g->peer[0].all;
    from.at += (size_t)g->first[comm->rank] * g->line;
    copy_rows(g, comm->rank, *y, from, g->peer[0].device);
    status = tulle_comm_agree(comm, ops->queue_wait(g->queue)); /* PE 0 may use its memory again */
out:
    return status;
}
