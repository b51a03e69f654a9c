/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all parts of a block solve: its operators, and the state of its columns. */
#include <stdarg.h>
#include <stdio.h>

#include "algo/krylov/block.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "base/decimal.h"

/* ---- operators ---- */

tulle_status tulle__block_product(tulle__block *b)
{
    int64_t start = tulle__now(b->comm);
    const tulle__block_vectors *p = &b->vectors;
    tulle_status status;
    if (b->resident) {
        tulle__device_place x = tulle__resident_place(b->resident, p->in.val),
                            y = tulle__resident_place(b->resident, p->out.val);
        status = tulle__resident_of(b->A)->apply(p->bound_A, &x, &y);
    } else
        status = b->A->apply(p->bound_A);
    tulle__part_end(b->comm, "product", start, &b->product_ns);
    return status;
}

tulle_status tulle__block_precondition(tulle__block *b)
{
    int64_t start = tulle__now(b->comm);
    const tulle__block_vectors *p = &b->vectors;
    tulle_status status = TULLE_OK;
    if (b->M && b->resident) {
        tulle__device_place x = tulle__resident_place(b->resident, p->rest.val),
                            y = tulle__resident_place(b->resident, p->pre.val);
        status = tulle__resident_of(b->M)->apply(p->bound_M, &x, &y);
    } else if (b->M)
        status = b->M->apply(p->bound_M);
    if (b->M) tulle__part_end(b->comm, "precondition", start, &b->precond_ns);
    return status;
}

/* ---- columns ---- */

int tulle__block_active(const tulle__block *b)
{
    int count = 0;
    for (int j = 0; j < b->columns; j++) count += b->column[j].active;
    return count;
}

void tulle__block_report(const tulle__block *b, int j)
{
    const tulle_krylov_options *o = b->options;
    const tulle__block_column *c = &b->column[j];
    tulle_gidx column = b->first + j;
    if (column == 0 && o->history && b->iteration < o->history_capacity)
        o->history[b->iteration] = c->residual * c->scale;
    tulle_krylov_step step = {.column = column,
        .iteration = b->iteration,
        .residual = c->residual * c->scale,
        .norm = c->norm * c->scale,
        .limit = c->limit * c->scale,
        .seconds = (double)(tulle__now(b->comm) - b->start) * 1e-9,
        .width = b->m ? b->m : tulle__block_active(b),
        .active = tulle__block_active(b),
        .x = b->resident ? NULL : b->x + (size_t)j * tulle_type_size(b->multi.space.type),
        .stride = b->columns,
        .scale = c->scale};
    if (o->watch && b->comm->rank == 0) o->watch(o->arg, &step);
}

static void end_column(tulle__block *b, int j, tulle_stop stop, const char *format, va_list args)
{
    char why[sizeof b->why];
    b->column[j].stop = stop;
    b->column[j].active = 0;
    tulle__decimal_vformat(why, sizeof why, format, args);
    if (stop != TULLE_STOP_CONVERGED && !*b->why)
        snprintf(b->why, sizeof b->why, "column " TULLE__AT ", iteration %lld: %.100s", (int64_t)(b->first + j),
            (long long)b->iteration, why);
}

void tulle__block_stop_column(tulle__block *b, int j, tulle_stop stop, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_column(b, j, stop, format, args);
    va_end(args);
}

static int is_running(const tulle__block *b, int j)
{
    return b->column[j].stop == TULLE_STOP_COUNT && (b->alone < 0 || b->alone == j);
}

static void stop_all(tulle__block *b, tulle_stop stop, const char *format, va_list args)
{
    b->stopped = 1;
    for (int j = 0; j < b->columns; j++) {
        va_list copy;
        if (!is_running(b, j)) continue;
        va_copy(copy, args);
        end_column(b, j, stop, format, copy);
        va_end(copy);
    }
}

void tulle__block_stop(tulle__block *b, tulle_stop stop, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    stop_all(b, stop, format, args);
    va_end(args);
}

void tulle__block_break(tulle__block *b, tulle_stop stop, const char *format, ...)
{
    va_list args;
    int running = 0;
    for (int j = 0; j < b->columns; j++) running += is_running(b, j);
    if (running > 1) {
        b->broken = 1;
        b->singly |= stop == TULLE_STOP_NOT_FINITE || stop == TULLE_STOP_PRECOND_INDEFINITE;
        return;
    }
    va_start(args, format);
    stop_all(b, stop, format, args);
    va_end(args);
}
